// Looking now and then at what nobody waits for.
import { assertEquals } from "@std/assert";
import { IdleCheck } from "../../../wait/idle_check.ts";
import { Time } from "../../time.ts";

Deno.test("IdleCheck looks soon at first, then after as long as it was quiet, and at least twice a second", () => {
  using time = new Time();
  let looks = 0;
  const check = new IdleCheck(() => (looks++, false));
  check.begin(false);
  const counts = [1, 8, 100, 1000, 10_000, 10_000].map((ms) => {
    looks = 0;
    time.pass(ms);
    return looks;
  });
  const isRight = (count: number, i: number): boolean =>
    count >= [1, 2, 3, 3, 16, 18][i]! && count <= [1, 4, 5, 7, 21, 22][i]!;
  assertEquals(counts.map(isRight), Array(6).fill(true), `${counts}`);
  check.end();
  assertEquals(time.isRunning, false);
});

Deno.test("IdleCheck looks soon again after it has found something", () => {
  using time = new Time();
  let isThere = false;
  const looks: number[] = [];
  const check = new IdleCheck(() => (looks.push(time.now), isThere));
  check.begin(false);
  time.pass(10_000);
  isThere = true;
  time.pass(600);
  isThere = false;
  looks.length = 0;
  time.pass(20);
  assertEquals(looks.length > 3, true, `${looks.length} looks`);
  check.end();
});

Deno.test("IdleChecks that do nothing for long share their wake-ups", () => {
  using time = new Time();
  const idleChecks = [0, 1, 2, 3].map((i) => {
    time.pass(i * 37);
    const check = new IdleCheck(() => false);
    check.begin(false);
    return check;
  });
  time.pass(60_000);
  const before = time.timers;
  time.pass(10_240);
  assertEquals(time.timers - before, 20);
  for (const check of idleChecks) check.end();
});

Deno.test("IdleCheck keeps the process alive only while one is held", () => {
  using time = new Time();
  const [first, second] = [new IdleCheck(() => false), new IdleCheck(() => false)];
  first.begin(false);
  assertEquals(time.isHeld, false);
  second.begin(true);
  assertEquals(time.isHeld, true);
  time.pass(100);
  assertEquals(time.isHeld, true);
  second.rest();
  assertEquals(time.isHeld, false);
  time.pass(100);
  assertEquals(time.isHeld, false);
  first.end();
  second.end();
  assertEquals(time.isRunning, false);
});

Deno.test("IdleCheck that begins to keep the process alive looks soon, however long nothing was found", () => {
  using time = new Time();
  const looks: number[] = [];
  const check = new IdleCheck(() => (looks.push(time.now), false));
  check.begin(false);
  time.pass(60_000);
  check.hold(true);
  const from = time.now;
  time.pass(16);
  assertEquals(looks.some((at) => at > from), true);
  check.hold(false);
  time.pass(60_000);
  looks.length = 0;
  time.pass(10_240);
  assertEquals(looks.length <= 21, true, `${looks.length} looks`);
  check.end();
});

Deno.test("IdleChecks that rest end a timer that is long, and leave one that is short", () => {
  using time = new Time();
  const [first, second] = [new IdleCheck(() => false), new IdleCheck(() => false)];
  const running = (): boolean => time.isRunning;
  first.begin(false, 512, 16);
  first.rest();
  assertEquals(running(), true, "it begins again soon");
  first.begin(false);
  second.begin(false);
  time.pass(60_000);
  first.rest();
  assertEquals(running(), true, "another one does not rest");
  second.rest();
  assertEquals(running(), false);
  let looks = 0;
  const third = new IdleCheck(() => (looks++, false));
  third.begin(false);
  time.pass(10);
  assertEquals(looks > 1, true, `${looks} looks`);
  for (const check of [first, second, third]) check.end();
  assertEquals(running(), false);
});

Deno.test("IdleCheck goes on when the clock is set back, and ends within its own look", () => {
  using time = new Time();
  let looks = 0;
  const check = new IdleCheck(() => {
    if (++looks === 3) check.end();
    return false;
  });
  check.begin(false);
  time.pass(1);
  time.setBack = 100_000;
  time.pass(1000);
  assertEquals([looks, time.isRunning], [3, false]);
});

Deno.test("IdleCheck is looked at although another one is looked at more often", () => {
  using time = new Time();
  let looks = 0;
  const quiet = new IdleCheck(() => (looks++, false));
  quiet.begin(false);
  time.pass(60_000);
  const busy = new IdleCheck(() => true);
  busy.begin(false);
  looks = 0;
  time.pass(10_240);
  assertEquals(looks >= 19, true, `${looks} looks`);
  quiet.end();
  busy.end();
});

Deno.test("IdleCheck looks soon again when it is needed sooner", () => {
  using time = new Time();
  let looks = 0;
  const check = new IdleCheck(() => (looks++, false));
  check.begin(false);
  time.pass(60_000);
  looks = 0;
  check.begin(false, 16);
  time.pass(16);
  assertEquals(looks > 2, true, `${looks} looks`);
  check.end();
});

Deno.test("IdleCheck looks no later than it says, also when timers are late, and not more often when the clock is set back", () => {
  for (const longestMs of [16, 512]) {
    using time = new Time();
    const looks: number[] = [];
    // Each look makes the next timer begin late.
    const check = new IdleCheck(() => (looks.push(time.now), time.now += 1, false));
    check.begin(false, longestMs);
    time.pass(20_000);
    const pauses = looks.slice(1).map((at, i) => at - looks[i]!);
    assertEquals(Math.max(...pauses) <= longestMs + 1, true, `${Math.max(...pauses)} ms`);
    looks.length = 0;
    time.setBack = 3_600_000;
    time.pass(10_000);
    assertEquals(looks.length < 10 + 10_000 / longestMs * 2, true, `${looks.length} looks`);
    check.end();
  }
});

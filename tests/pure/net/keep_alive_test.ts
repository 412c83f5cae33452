// The checks of the peers of many connections, by one timer that the test moves.
import { assertEquals, assertGreater } from "@std/assert";
import { stub } from "@std/testing/mock";
import { type Timer, timers } from "../../../wait/clock.ts";
import { KeepAlive } from "../../../net/rc/keep_alive.ts";

const PERIOD = 1000;

/** The intervals of the runtime, which end when they are told. */
class Clock implements Disposable {
  readonly #stubs = [
    stub(timers, "setInterval", (call, ms) => {
      this.#running.set(++this.made, { call, ms });
      return this.made as unknown as Timer;
    }),
    stub(timers, "clearInterval", (timer) => void this.#running.delete(Number(timer))),
    stub(timers, "unrefTimer"),
  ];
  readonly #running: Map<number, { call: () => void; ms: number }> = new Map();
  made = 0;

  get timers(): number {
    return this.#running.size;
  }

  /** Lets the only interval end once. Returns how long it was. */
  tick(): number {
    const [{ call, ms }] = this.#running.values() as unknown as [{ call: () => void; ms: number }];
    call();
    return ms;
  }

  [Symbol.dispose](): void {
    for (const one of this.#stubs) one.restore();
  }
}

class Connection {
  checks = 0;
  checkPeer(): void {
    this.checks++;
  }
}

for (const count of [1, 63, 64, 65, 100, 1000, 10_000]) {
  Deno.test(`KeepAlive checks each of ${count} connections once in a period, by one timer`, () => {
    using clock = new Clock();
    const keepAlive = new KeepAlive(PERIOD);
    const connections = Array.from({ length: count }, () => new Connection());
    for (const connection of connections) keepAlive.add(connection);
    // The first round was begun for the first one.
    clock.tick();
    const before = connections.map(({ checks }) => checks);
    const { made } = clock;
    let most = 0;
    for (let left = PERIOD; left > PERIOD / 1e6;) {
      const sum = (): number => connections.reduce((sum, { checks }) => sum + checks, 0);
      const checked = sum();
      left -= clock.tick();
      most = Math.max(most, sum() - checked);
    }
    assertEquals(connections.map(({ checks }, i) => checks - before[i]!), Array(count).fill(1));
    assertEquals([clock.timers, clock.made], [1, made]);
    assertGreater(Math.max(65, count / 99), most);
  });
}

Deno.test("KeepAlive checks no connection that has ended, and waits for nothing without any", () => {
  using clock = new Clock();
  const keepAlive = new KeepAlive(PERIOD);
  const [first, second] = [new Connection(), new Connection()];
  keepAlive.add(first);
  keepAlive.add(second);
  keepAlive.delete(first);
  for (let i = 0; i < 3; i++) clock.tick();
  assertEquals([first.checks, clock.timers], [0, 1]);
  keepAlive.delete(second);
  assertEquals(clock.timers, 0);
  keepAlive.add(first);
  clock.tick();
  assertEquals([first.checks, clock.timers], [1, 1]);
});

Deno.test("KeepAlive goes on when a check ends its connection, until it was the last one", () => {
  using clock = new Clock();
  const keepAlive = new KeepAlive(PERIOD);
  const failing = { checkPeer: () => keepAlive.delete(failing) };
  const others = [new Connection(), new Connection()];
  for (const connection of [failing, ...others]) keepAlive.add(connection);
  for (let i = 0; i < 4; i++) clock.tick();
  assertEquals(others.map(({ checks }) => checks), [3, 3]);
  for (const connection of others) keepAlive.delete(connection);
  keepAlive.add(failing);
  clock.tick();
  assertEquals(clock.timers, 0);
});

Deno.test("KeepAlive of 0 ms checks nothing", () => {
  using clock = new Clock();
  new KeepAlive(0).add(new Connection());
  assertEquals(clock.timers, 0);
});

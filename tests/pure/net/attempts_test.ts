import { assertEquals } from "@std/assert";
import { Attempts, networkOf } from "../../../net/rc/attempts.ts";

const LIMITS = { maxHandshakes: 4, maxPending: 3, maxPerPeer: 2 };

/**
 * What happens, and what follows: "a1 @a" is a call of a1 from host a, "a1 ok" its address, "a1 end" its end. The results
 * are who has to go, and whether the address is taken.
 */
const STORIES: Record<string, [events: string[], results: (string | boolean | undefined)[]]> = {
  "few calls": [["a1 @a", "a2 @a", "b1 @b"], [undefined, undefined, undefined]],
  "the oldest of the same host goes": [["b1 @b", "a1 @a", "a2 @a", "a3 @a", "a4 @a"], [
    undefined,
    undefined,
    undefined,
    "a1",
    "a2",
  ]],
  "the oldest of the host with the most goes": [
    ["b1 @b", "a1 @a", "a2 @a", "c1 @c", "d1 @d", "e1 @e"],
    [undefined, undefined, undefined, undefined, "a1", "b1"],
  ],
  "who has gone is not taken": [["a1 @a", "a2 @a", "a3 @a", "a1 ok", "a2 ok"], [
    undefined,
    undefined,
    "a1",
    false,
    true,
  ]],
  "an address makes room for a call": [["a1 @a", "a2 @a", "a1 ok", "a3 @a"], [
    undefined,
    undefined,
    true,
    undefined,
  ]],
  "an end makes room for a call": [["a1 @a", "a2 @a", "a1 end", "a3 @a", "a4 @a"], [
    undefined,
    undefined,
    undefined,
    undefined,
    "a2",
  ]],
  "too many addresses of one host": [
    ["a1 @a", "a1 ok", "a2 @a", "a2 ok", "a3 @a", "a3 ok", "b1 @b", "b1 ok"],
    [undefined, true, undefined, true, undefined, false, undefined, true],
  ],
  "too many addresses": [
    ["a1 @a", "a1 ok", "b1 @b", "b1 ok", "c1 @c", "c1 ok", "d1 @d", "d1 ok"],
    [undefined, true, undefined, true, undefined, true, undefined, false],
  ],
  "an end makes room for an address": [
    ["a1 @a", "a1 ok", "a2 @a", "a2 ok", "a1 end", "a1 end", "a3 @a", "a3 ok", "a4 @a", "a4 ok"],
    [
      undefined,
      true,
      undefined,
      true,
      undefined,
      undefined,
      undefined,
      true,
      undefined,
      false,
    ],
  ],
  "an address comes once": [["a1 @a", "a1 ok", "a1 ok"], [undefined, true, false]],
};

const HOSTS: Record<string, string> = { a: "10.0.0.1", b: "10.0.0.2", c: "fe80::1", d: "::1" };

for (const [what, [events, results]] of Object.entries(STORIES)) {
  Deno.test(`Attempts bounds attempts to connect: ${what}`, () => {
    const attempts = new Attempts<string>(LIMITS);
    const seen = events.map((event) => {
      const [attempt, action] = event.split(" ") as [string, string];
      if (action === "ok") return attempts.advance(attempt);
      if (action === "end") return attempts.delete(attempt);
      return attempts.add(attempt, HOSTS[action.slice(1)] ?? "10.9.9.9");
    });
    assertEquals(seen, results);
  });
}

Deno.test("Attempts.isFull() says whether the next call takes the place of another one", () => {
  const attempts = new Attempts<number>(LIMITS);
  const calls = ["10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.3"];
  const full = calls.map((host, i) => {
    attempts.add(i, host);
    return [attempts.isFull("10.0.0.1"), attempts.isFull("10.0.0.2")];
  });
  assertEquals(full, [[false, false], [true, false], [true, false], [true, true]]);
});

Deno.test("networkOf() takes the addresses that one partner can have for one", () => {
  const groups = [
    ["10.0.0.1", "::ffff:10.0.0.1"],
    ["10.0.0.2"],
    ["2001:db8::1", "2001:db8::ffff:1", "2001:db8:0:0:1::"],
    ["2001:db8:0:1::1"],
    ["fe80::1%eth0", "fe80::2"],
  ];
  const networks = groups.map((group) => new Set(group.map(networkOf)));
  assertEquals(networks.map(({ size }) => size), [1, 1, 1, 1, 1]);
  assertEquals(new Set(networks.flatMap((all) => [...all])).size, groups.length);
});

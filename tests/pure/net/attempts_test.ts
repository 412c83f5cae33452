import { assertEquals } from "@std/assert";
import { Attempts, networkOf } from "../../../net/rc/attempts.ts";

const LIMITS = { maxHandshakes: 4, maxPending: 3, maxPerPeer: 2 };

/**
 * What happens, and what follows: "a1 @a" is a call of a1 from host a, "a1 ok" its address, "a1 end" its end. Behind the
 * equals sign stands who has to go, or whether the address is taken.
 */
const STORIES: Record<string, string> = {
  "few calls": "a1 @a, a2 @a, b1 @b",
  "the oldest of the same host goes": "b1 @b, a1 @a, a2 @a, a3 @a=a1, a4 @a=a2",
  "the oldest of the host with the most goes": "b1 @b, a1 @a, a2 @a, c1 @c, d1 @d=a1, e1 @e=b1",
  "who has gone is not taken": "a1 @a, a2 @a, a3 @a=a1, a1 ok=false, a2 ok=true",
  "an address makes room for a call": "a1 @a, a2 @a, a1 ok=true, a3 @a",
  "an end makes room for a call": "a1 @a, a2 @a, a1 end, a3 @a, a4 @a=a2",
  "too many addresses of one host":
    "a1 @a, a1 ok=true, a2 @a, a2 ok=true, a3 @a, a3 ok=false, b1 @b, b1 ok=true",
  "too many addresses":
    "a1 @a, a1 ok=true, b1 @b, b1 ok=true, c1 @c, c1 ok=true, d1 @d, d1 ok=false",
  "an end makes room for an address":
    "a1 @a, a1 ok=true, a2 @a, a2 ok=true, a1 end, a1 end, a3 @a, a3 ok=true, a4 @a, a4 ok=false",
  "an address comes once": "a1 @a, a1 ok=true, a1 ok=false",
};

const HOSTS: Record<string, string> = { a: "10.0.0.1", b: "10.0.0.2", c: "fe80::1", d: "::1" };

for (const [what, story] of Object.entries(STORIES)) {
  Deno.test(`Attempts bounds attempts to connect: ${what}`, () => {
    const attempts = new Attempts<string>(LIMITS);
    const seen = story.split(", ").map((step) => {
      const [event] = step.split("=") as [string];
      const [attempt, action] = event.split(" ") as [string, string];
      const result = action === "ok"
        ? attempts.advance(attempt)
        : action === "end"
        ? attempts.delete(attempt)
        : attempts.add(attempt, HOSTS[action.slice(1)] ?? "10.9.9.9");
      return result === undefined ? event : `${event}=${result}`;
    });
    assertEquals(seen.join(", "), story);
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

Deno.test("networkOf() takes the addresses that one peer can have for one", () => {
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

// What a client sends to a server of perf may be anything: the server says in its own words what it cannot use.

import { assert, assertEquals, assertMatch } from "@std/assert";
import * as recorder from "../../../tests/provider/recorder.ts";
import { isOfEngine } from "../../../tests/engine_words.ts";
import { run } from "../../run.ts";
import { recorder as keep } from "../pure/terminal.ts";

type Message = Readonly<Record<string, unknown>>;

/** A client that reads memory: it needs no messages of queue pairs. */
const CONVERSATION: readonly Message[] = [
  {
    ...{ perf: 2, verb: "read", kind: "rc", size: 64, iters: 10, messages: 10, duration: 0, qp: 1 },
    ...{ mtu: 1024, left: 0, addr: "0x0", rkey: 0, reads: 1 },
    addresses: [`0000:000001:000001:${"0".repeat(32)}\0`],
  },
  { asked: 12, warmUp: 2 },
  { sent: 10, received: 10, microseconds: 100 },
];

/** Values that JSON has and no field. */
const GARBAGE: readonly unknown[] = [
  ...[null, true, {}, [], { toString: 1, valueOf: 1 }, [{ toString: 1, valueOf: 1 }], [[]]],
  ...["", "x", "\x1b[2J", -1, 1.5, 1e308],
];

/** What a server prints to a client that says all this. */
async function answerTo(conversation: readonly unknown[]): Promise<[status: number, err: string]> {
  recorder.reset();
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  const kept = keep();
  const serving = run(["perf", "-p", `${port}`, "--timeout", "5"], kept.terminal);
  using connection = await Deno.connect({ port });
  const text = conversation.map((message) => `${JSON.stringify(message)}\n`).join("");
  await connection.write(new TextEncoder().encode(text));
  await connection.closeWrite();
  return [await serving, kept.err];
}

function changed(at: number, change: Message): readonly Message[] {
  return CONVERSATION.with(at, { ...CONVERSATION[at], ...change });
}

function assertRefused([status, err]: [number, string], what: string): void {
  assertEquals(status, 1, what);
  const message = err.replace(/^perf: /, "").trim();
  assert(message !== "" && !isOfEngine(new TypeError(message)), `${what}: ${message}`);
  assertEquals(isOfEngine(new RangeError(message)), false, `${what}: ${message}`);
}

Deno.test("perf serves a client that reads", async () => {
  assertEquals(await answerTo(CONVERSATION), [0, ""]);
});

Deno.test("perf refuses garbage in any field of a client's messages in its own words", async () => {
  for (const [at, message] of CONVERSATION.entries()) {
    // A server does not answer reads: it does not look at how many were asked.
    for (const name of Object.keys(message).filter((name) => name !== "asked")) {
      for (const value of GARBAGE) {
        const what = `message ${at}, ${name}: ${JSON.stringify(value)}`;
        // A number that is a possible time.
        if (name === "microseconds" && typeof value === "number" && value > 0) continue;
        assertRefused(await answerTo(changed(at, { [name]: value })), what);
      }
    }
  }
  for (const value of GARBAGE) {
    assertRefused(await answerTo(changed(0, { error: value })), `error: ${JSON.stringify(value)}`);
  }
});

Deno.test("perf refuses a client that leaves no latency to measure", async () => {
  const sends = { ...CONVERSATION[0], verb: "send" };
  for (const asked of [0, 1]) {
    const [status, err] = await answerTo([sends, { asked, warmUp: 0 }, CONVERSATION[2]]);
    assertEquals(status, 1);
    assertMatch(err, new RegExp(`the peer sent "${asked}" for asked`));
  }
});

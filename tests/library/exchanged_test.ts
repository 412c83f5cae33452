// Arguments in the wrong order: the error names the first one that is wrong, and says what it is.

import { assertEquals, assertInstanceOf, assertMatch } from "@std/assert";
import * as recorder from "../provider/recorder.ts";
import { idle } from "./registry/recorder_device.ts";
import { callNamed, invoke } from "./registry/calls.ts";
import { ObjectSet } from "./registry/object_set.ts";

/** A call, the order in which its arguments are given, and what the error says of which one. */
const EXCHANGED: readonly (readonly [name: string, order: readonly number[], message: string])[] = [
  ["RcConn#write", [2, 0], "Cannot use remote memory: a Uint8Array has none of the attributes"],
  ["RcConn#write", [2, 1, 0], "Cannot use remote memory: a Uint8Array has none of the attributes"],
  [
    "RcConn#write",
    [1, 0, 2],
    "Cannot use remote memory 8: it is not an object with addr, length, rkey",
  ],
  ["RcConn#read", [2, 1, 0], "Cannot use remote memory 16: it is not an object with addr, length"],
  [
    "RcConn#fetchAndAdd",
    [2, 1, 0],
    "Cannot use remote memory 1n: it is not an object with addr, length",
  ],
  [
    "RcConn#compareAndSwap",
    [2, 0, 1, 3],
    "Cannot use remote memory 0n: it is not an object with addr",
  ],
  ["RcConn#send", [1, 0], "Cannot use message an object: it is not a Uint8Array"],
  ["UdConn#send", [1, 0, 2], "Cannot use message an object: it is not a Uint8Array"],
  ["UdConn#sendMany", [1, 0], "Cannot use options: an array has none of the attributes"],
  ["QueuePair#postSend (prepared)", [1, 0, 2], "Cannot use requests "],
  ["QueuePair#postRecv (prepared)", [1, 0, 2], "Cannot use requests "],
  ["ReplyPath#to", [1, 0], "Cannot use work completion: a Grh has none of the attributes"],
  ["ReplyPath#toAsync", [1, 0], "Cannot use options: there is no attribute "],
  [
    "new QueuePairEx (datagram)",
    [1, 0],
    "Cannot use queue pair attributes: a ProtectionDomain has",
  ],
  ["RxHash#hash", [1, 0], "Cannot use srcIp undefined: it is not a Uint8Array"],
];

Deno.test("an error of exchanged arguments names one of them by what it is", async () => {
  for (const [name, order, message] of EXCHANGED) {
    recorder.reset();
    const call = callNamed(name);
    const set = new ObjectSet();
    const { self, args } = await call.prepare(set);
    let found: unknown;
    try {
      await invoke(call, { self, args: order.map((i) => args[i]) });
    } catch (error) {
      found = error;
    }
    assertInstanceOf(found, TypeError, name);
    assertEquals(found.message.slice(0, message.length), message, name);
    assertMatch(found.message, /^Cannot use (?!.*Cannot use)/);
    set.close();
    await idle();
  }
});

// Options behind the last argument would be lost.
import { assertRejects, assertThrows } from "@std/assert";
import { AddressHandle, initAhFromWcAsync, OpenedQueuePair, QueuePair } from "../../mod.ts";
import { ReplyPath, SharedReceiveQueue, WorkQueue } from "../../mod.ts";
import { CmId } from "../../cm.ts";
import { RcConn } from "../../net/mod.ts";

const options = { signal: AbortSignal.timeout(1) };

/** Calls, with as many empty places as they have arguments. They refuse the options before anything else. */
const CALLS: Readonly<Record<string, readonly [call: unknown, places: number, form: string]>> = {
  "AddressHandle.fromWcAsync()": [AddressHandle.fromWcAsync, 4, "{ grh, signal }"],
  "initAhFromWcAsync()": [initAhFromWcAsync, 4, "{ grh, signal }"],
  "ReplyPath.toAsync()": [ReplyPath.prototype.toAsync, 2, "{ grh, signal }"],
  "CmId.resolveAddr()": [
    CmId.prototype.resolveAddr,
    2,
    "resolveAddr(address, { srcAddr, timeout })",
  ],
  "RcConn.receive()": [RcConn.prototype.receive, 1, "receive({ buffer, signal })"],
};

for (const [name, [call, places, form]] of Object.entries(CALLS)) {
  Deno.test(`${name} refuses options behind its last argument`, async () => {
    const given = [...Array(places), options];
    const calling = (): Promise<unknown> => (call as (...args: unknown[]) => never)(...given);
    await assertRejects(
      calling,
      TypeError,
      `Cannot use a further argument an object: write ${form}`,
    );
  });
}

/** Calls that throw, with an argument that C has and they have not. */
const OF_C: Readonly<Record<string, readonly [call: unknown, given: unknown[], form: string]>> = {
  "CmId.reject()": [
    CmId.prototype.reject,
    [undefined, { ece: true }],
    "reject({ privateData, ece })",
  ],
  "QueuePair.modify()": [QueuePair.prototype.modify, [{}, 1], "modify(attr): the mask is computed"],
  "OpenedQueuePair.modify()": [OpenedQueuePair.prototype.modify, [{}, 1], "modify(attr): the mask"],
  "WorkQueue.modify()": [WorkQueue.prototype.modify, [{}, 1], "modify(attr): the mask is computed"],
  "SharedReceiveQueue.modify()": [
    SharedReceiveQueue.prototype.modify,
    [{}, 1],
    "modify(attr): the",
  ],
};

for (const [name, [call, given, form]] of Object.entries(OF_C)) {
  Deno.test(`${name} refuses an argument behind its last one`, () => {
    assertThrows(
      () => (call as (...args: unknown[]) => void)(...given),
      TypeError,
      `write ${form}`,
    );
  });
}

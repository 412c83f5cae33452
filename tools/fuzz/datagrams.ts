/** Datagrams that hostile peers send to connections of net, on the recording provider. */

import { Grh, VerbsError, WcFlags, WcOpcode } from "../../mod.ts";
import { listenUd } from "../../net/mod.ts";
import { bytes } from "./inputs.ts";
import { provider, recorded, takePosted } from "./provider.ts";
import { expected, fc, same, target, within } from "./target.ts";

const LIMIT_MS = 10_000;

const grh = fc.tuple(
  bytes(40),
  fc.constantFrom([], [0x60], [0x60, 0x45], [0, 0x45]),
  fc.constantFrom("", "0a000001", "fe80000000000000000000fffe000001"),
).map(([grh, [first, second], destination]) => {
  if (first !== undefined) grh[0] = first;
  if (second !== undefined) grh[20] = second;
  // Some were sent to a GID of the recorder.
  grh.set(Uint8Array.fromHex(destination), 40 - destination.length / 2);
  return grh;
});
const datagram = fc.record({
  grh,
  hasGrh: fc.boolean().map((no) => !no),
  payload: bytes(0, 200),
  srcQp: fc.nat(0xff_ffff),
  slid: fc.nat(0xffff),
  replies: fc.boolean(),
});
type Datagram = typeof datagram extends fc.Arbitrary<infer T> ? T : never;

async function receiveAll(datagrams: readonly Datagram[]): Promise<void> {
  const recorder = await provider();
  await using conn = await listenUd({
    ...{ device: "recorder0", qkey: 7, recvDepth: 8, maxQueued: 8, sendDepth: 64, maxPeers: 4 },
  });
  const posted = takePosted(recorder);
  for (const { grh, hasGrh, payload, srcQp, slid, replies } of datagrams) {
    const { id, memory } = posted.shift()!;
    memory.set(grh);
    memory.set(payload, Grh.SIZE);
    recorder.complete("cq1", {
      ...{ wr_id: id, opcode: WcOpcode.RECV, byte_len: Grh.SIZE + payload.length },
      ...{ src_qp: srcQp, slid, wc_flags: hasGrh ? WcFlags.GRH : 0 },
    });
    const [message, from] = await within(LIMIT_MS, "receive()", conn.receive());
    same(message, payload, "message");
    const { sgid } = new Grh(grh);
    const gid = hasGrh ? sgid.toString() : "::";
    same([from.gid, from.qpNum, from.lid, from.qkey], [gid, srcQp, slid, 7], "sender");
    // The sender may have an address that nobody can have. A group of the other family is refused by a RangeError.
    const kinds = [VerbsError, TypeError, ...(sgid.isMulticast ? [RangeError] : [])];
    const reply = replies ? within<unknown>(LIMIT_MS, "send()", conn.send(message, from)) : null;
    await reply?.catch((error) => expected(error, ...kinds));
    posted.push(...takePosted(recorder));
  }
  same(conn.stats.received, datagrams.length, "counted");
}

const datagrams = fc.array(datagram, { minLength: 1, maxLength: 40, size: "max" });

export const DATAGRAMS = [
  target(
    "datagrams",
    "UdConn: datagrams of any kind, and replies",
    datagrams,
    (all) => recorded(all, receiveAll),
  ),
];

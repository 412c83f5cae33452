/** What a device reports of packets that hostile peers send to connections of net, on the recording provider. */

import { Grh, VerbsError, WcFlags, WcOpcode, WcStatus } from "../../mod.ts";
import { connectRc, listenUd, type RcConn } from "../../net/mod.ts";
import { FrameType } from "../../net/rc/protocol.ts";
import { bytes } from "./inputs.ts";
import type { RecordedStruct } from "../../tests/provider/records.ts";
import { provider, recorded } from "./servers.ts";
import { expected, fc, same, type Target, target, within } from "./target.ts";

type Recorder = Awaited<ReturnType<typeof provider>>;

const LIMIT_MS = 10_000;

interface Posted {
  readonly id: bigint;
  readonly memory: Uint8Array<ArrayBuffer>;
}

/** The receives that were posted since the last call. */
function takePosted(recorder: Recorder): Posted[] {
  return recorder.takeOf("ibv_post_recv").flatMap(({ args }) => {
    const structs = Object.entries(args).filter(([, value]) => typeof value === "object");
    return structs.filter(([name]) => !name.includes(".")).map(([name, request]): Posted => {
      const { wr_id: id } = (request as RecordedStruct).fields;
      const { bytes } = args[`${name}.sg_list`] as RecordedStruct;
      const sge = new DataView(bytes.buffer, bytes.byteOffset);
      const pointer = Deno.UnsafePointer.create(sge.getBigUint64(0, true))!;
      const memory = Deno.UnsafePointerView.getArrayBuffer(pointer, sge.getUint32(8, true));
      return { id: id as bigint, memory: new Uint8Array(memory) };
    });
  });
}

const datagram = fc.record({
  grh: fc.tuple(
    bytes(40),
    fc.constantFrom([], [0x60], [0x60, 0x45], [0, 0x45]),
    fc.constantFrom(0, 1, 2),
  )
    .map(([grh, [first, second], destination]) => {
      if (first !== undefined) grh[0] = first;
      if (second !== undefined) grh[20] = second;
      // Some were sent to a GID of the recorder.
      if (destination === 1) grh.set([10, 0, 0, 1], 36);
      if (destination === 2) grh.set(Uint8Array.fromHex("fe80000000000000000000fffe000001"), 24);
      return grh;
    }),
  hasGrh: fc.boolean().map((no) => !no),
  payload: bytes(0, 200),
  srcQp: fc.nat(0xff_ffff),
  slid: fc.nat(0xffff),
  replies: fc.boolean(),
});
type Received = typeof datagram extends fc.Arbitrary<infer T> ? T : never;

async function receiveAll(datagrams: readonly Received[]): Promise<void> {
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
    same([from.gid, from.qpn, from.lid, from.qkey], [gid, srcQp, slid, 7], "sender");
    // The sender may have an address that nobody can have. A group of the other family is refused by a RangeError.
    const kinds = [VerbsError, TypeError, ...(sgid.isMulticast ? [RangeError] : [])];
    const reply = replies ? within<unknown>(LIMIT_MS, "send()", conn.send(message, from)) : null;
    await reply?.catch((error) => expected(error, ...kinds));
    posted.push(...takePosted(recorder));
  }
  same(conn.stats.received, datagrams.length, "counted");
}

const CREDITS = 4;
/** Receives of messages, and those that need no credit. */
const RECEIVES = CREDITS + 5;

const frame = fc.record({
  type: fc.oneof({ weight: 4, arbitrary: fc.constantFrom(1, 1, 1, 2, 3, 4, 5) }, fc.nat(15)),
  credits: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, fc.nat(0xfff_ffff)),
  payload: bytes(0, 64),
  kind: fc.oneof(
    { weight: 9, arbitrary: fc.constant("message" as const) },
    fc.constantFrom("plain" as const, "write" as const),
  ),
  status: fc.oneof(
    { weight: 15, arbitrary: fc.constant(WcStatus.SUCCESS) },
    fc.constantFrom(WcStatus.LOC_LEN_ERR, WcStatus.LOC_PROT_ERR, WcStatus.GENERAL_ERR),
  ),
});
type Frame = typeof frame extends fc.Arbitrary<infer T> ? T : never;

/** What a connection makes of frames by the rules of the protocol. */
function judge(frames: readonly Frame[]): {
  readonly messages: Uint8Array[];
  readonly end: "end" | "violation" | "broken" | "open";
} {
  const messages: Uint8Array[] = [];
  let ended = false;
  const fault = frames.findIndex(({ type, credits, payload, kind, status }) => {
    if (status !== WcStatus.SUCCESS) return true;
    if (kind !== "message" || credits > 0) return true;
    if (type === FrameType.DATA) {
      if (ended || messages.length === CREDITS) return true;
      messages.push(payload);
    } else if (type === FrameType.END || type === FrameType.BYE) ended = true;
    return type === 0 || type > FrameType.BYE;
  });
  if (ended) return { messages, end: "end" };
  if (fault < 0) return { messages, end: "open" };
  return { messages, end: frames[fault]!.status === WcStatus.SUCCESS ? "violation" : "broken" };
}

async function connectTo(recorder: Recorder): Promise<{ conn: RcConn; posted: Posted[] }> {
  let posted: Posted[] = [];
  const conn = await connectRc({
    ...{ device: "recorder0", credits: CREDITS, sendDepth: 4, maxMessage: 64, keepAlive: 0 },
    exchange: (address) => {
      posted = takePosted(recorder);
      same(posted.length, RECEIVES, "posted receives");
      push(recorder, posted.shift()!, {
        ...{ type: FrameType.HELLO, credits: 0, payload: new Uint8Array(), kind: "message" },
        status: WcStatus.SUCCESS,
      });
      return Promise.resolve({ ...address, credits: CREDITS });
    },
  });
  return { conn, posted };
}

function push(
  recorder: Recorder,
  { id, memory }: Posted,
  { type, credits, payload, kind, status }: Frame,
): void {
  memory.set(payload);
  const immData = (type << 28 | credits) >>> 0;
  recorder.complete("cq0", {
    ...{ wr_id: id, status, byte_len: payload.length, imm_data: immData },
    opcode: kind === "write" ? WcOpcode.RECV_RDMA_WITH_IMM : WcOpcode.RECV,
    wc_flags: kind === "plain" ? 0 : WcFlags.WITH_IMM,
  });
}

async function followAll(frames: readonly Frame[]): Promise<void> {
  const recorder = await provider();
  const { conn, posted } = await within(LIMIT_MS, "connectRc()", connectTo(recorder));
  try {
    for (const frame of frames) push(recorder, posted.shift()!, frame);
    // Everything is polled before the first message is read.
    await conn.flush({ signal: AbortSignal.timeout(1) }).catch(() => {});
    const { messages, end } = judge(frames);
    for (const message of messages) {
      same(await within(LIMIT_MS, "receive()", conn.receive()), message, "message");
    }
    same(await outcome(conn), end, "what follows the messages");
  } finally {
    conn[Symbol.dispose]();
  }
}

async function outcome(conn: RcConn): Promise<string> {
  const nothing = AbortSignal.timeout(20);
  try {
    const received = conn.receive(undefined, { signal: nothing });
    const message = await within(LIMIT_MS, "receive()", received);
    return message === null ? "end" : "message";
  } catch (error) {
    if (error === nothing.reason) return "open";
    const { ConnectionReset, InvalidData } = Deno.errors;
    return expected(error, ConnectionReset, InvalidData) instanceof InvalidData
      ? "violation"
      : "broken";
  }
}

const datagrams = fc.array(datagram, { minLength: 1, maxLength: 40, size: "max" });
const frames = fc.array(frame, { minLength: 1, maxLength: RECEIVES - 1 });

export const PACKETS: readonly Target[] = [
  target(
    "net-ud",
    [12, 32],
    "UdConn: datagrams of any kind, and replies",
    [datagrams],
    (all) => recorded(all, receiveAll),
    2,
  ),
  target(
    "net-rc",
    [6, 26],
    "RcConn: messages of any kind, against the protocol",
    [frames],
    (all) => recorded(all, followAll),
  ),
];

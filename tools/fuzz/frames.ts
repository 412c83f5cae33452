/** Messages that a hostile peer sends over a connection of net, against the rules of its protocol. */

import { WcFlags, WcOpcode, WcStatus } from "../../mod.ts";
import { connectRc, type RcConn } from "../../net/mod.ts";
import { FrameType } from "../../net/rc/protocol.ts";
import { CREDITS, type Frame, frame, immDataOf, judge } from "./frame_rules.ts";
import { type Posted, provider, recorded, type Recorder, takePosted } from "./provider.ts";
import { expected, fc, same, target, within } from "./target.ts";

const LIMIT_MS = 10_000;
/** Receives of messages, and those that need no credit. */
const RECEIVES = CREDITS + 5;

function push(recorder: Recorder, { id, memory }: Posted, frame: Frame): void {
  const { payload, kind, status } = frame;
  memory.set(payload);
  recorder.complete("cq0", {
    ...{ wr_id: id, status, byte_len: payload.length, imm_data: immDataOf(frame) },
    opcode: kind === "write" ? WcOpcode.RECV_RDMA_WITH_IMM : WcOpcode.RECV,
    wc_flags: kind === "plain" ? 0 : WcFlags.WITH_IMM,
  });
}

const HELLO: Frame = {
  ...{ type: FrameType.HELLO, credits: 0, payload: new Uint8Array() },
  ...{ kind: "message", status: WcStatus.SUCCESS },
};

async function followAll(frames: readonly Frame[]): Promise<void> {
  const recorder = await provider();
  let posted: Posted[] = [];
  const connected = connectRc({
    ...{ device: "recorder0", credits: CREDITS, sendDepth: 4, maxMessage: 64, keepAlive: 0 },
    exchange: (address) => {
      posted = takePosted(recorder);
      same(posted.length, RECEIVES, "posted receives");
      push(recorder, posted.shift()!, HELLO);
      return Promise.resolve({ ...address, credits: CREDITS });
    },
  });
  using conn = await within(LIMIT_MS, "connectRc()", connected);
  for (const frame of frames) push(recorder, posted.shift()!, frame);
  // Everything is polled before the first message is read.
  await conn.flush({ signal: AbortSignal.timeout(1) }).catch(() => {});
  const { messages, writes, end } = judge(frames);
  for (const message of messages) {
    same(await within(LIMIT_MS, "receive()", conn.receive()), message, "message");
  }
  const written = conn.writes();
  for (const imm of writes) {
    same(await within(LIMIT_MS, "writes()", written.next()), { value: imm, done: false }, "write");
  }
  same(await endOf(conn), end, "what follows the messages");
}

async function endOf(conn: RcConn): Promise<string> {
  const signal = AbortSignal.timeout(20);
  const { ConnectionReset, InvalidData } = Deno.errors;
  try {
    const received = conn.receive({ signal });
    return await within(LIMIT_MS, "receive()", received) === null ? "end" : "message";
  } catch (error) {
    if (error === signal.reason) return "open";
    expected(error, ConnectionReset, InvalidData);
    return error instanceof InvalidData ? "violation" : "broken";
  }
}

const frames = fc.array(frame, { minLength: 1, maxLength: RECEIVES - 1 });

export const FRAMES = [
  target(
    "frames",
    "RcConn: messages of any kind, against the protocol",
    frames,
    (all) => recorded(all, followAll),
  ),
];

/**
 * RDMA write with immediate data. The client writes into the memory of the server, over a reliable connection (RC). The
 * server's program does not take part in the copy. The immediate data, a number of 32 bits, notifies the server that a
 * write has arrived, and where.
 *
 * ```text
 * client: wrote 3 lines into the server's memory
 * server: slot 0 has "RDMA write" (10 bytes)
 * server: slot 1 has "with immediate" (14 bytes)
 * server: slot 2 has "data" (4 bytes)
 * ```
 *
 * @module
 */

import {
  AccessFlags,
  CompletionQueue,
  Context,
  MemoryRegion,
  ProtectionDomain,
  type QpAddress,
  QpType,
  QueuePair,
  WrOpcode,
} from "@rdma/ibverbs";
import { choiceOf, ENDS, ENDS_HELP, type Exchange, runEnds } from "./support/ends.ts";
import {
  inTime,
  PORT,
  type Port,
  PORT_HELP,
  portOf,
  program,
  UsageError,
} from "./support/program.ts";

const HELP = `Writes lines into the memory of the other end.

  deno run --allow-ffi examples/rc_write_imm.ts [OPTIONS]
      runs both ends in this process
  deno run --allow-ffi --allow-net examples/rc_write_imm.ts --listen [OPTIONS]
  deno run --allow-ffi --allow-net examples/rc_write_imm.ts --connect HOST [OPTIONS]

  -m, --message TEXT      lines to write, separated by "/" (default "RDMA write/with
                          immediate/data")
${PORT_HELP}
${ENDS_HELP}
`;

const SLOTS = 8;
const SLOT_SIZE = 256;

/** What an end sends to the other one. */
interface Offer {
  readonly address: QpAddress;
  /** Where the memory is. JSON has no integers of 64 bits, so it is text. */
  readonly addr: string;
  /** The key that permits the write. */
  readonly rkey: number;
}

// The immediate data is ours: the number of the slot, and whether it is the last one.
const LAST = 0x8000_0000;

const OPTIONS = {
  ...PORT,
  ...ENDS,
  message: { type: "string", short: "m", default: "RDMA write/with immediate/data" },
} as const;

/** Writes with immediate data. */
export const main = program("rc_write_imm", HELP, { options: OPTIONS }, async ({ values }) => {
  const [choice, port] = [choiceOf(values), portOf(values)];
  const lines = values.message.split("/").map((line) => new TextEncoder().encode(line));
  if (lines.length > SLOTS || lines.some(({ length }) => length > SLOT_SIZE)) {
    throw new UsageError(`--message takes ${SLOTS} lines of ${SLOT_SIZE} bytes at most`);
  }
  await runEnds(choice, {
    server: async (peers, signal) => {
      using context = Context.open(port.device);
      const end = makeEnd(context, port, AccessFlags.LOCAL_WRITE | AccessFlags.REMOTE_WRITE);
      // Each write with immediate consumes a receive. It needs no memory: the client chooses where the data goes.
      for (let i = 0; i < SLOTS; i++) end.qp.postRecv({});
      for await (const peer of peers) {
        using deadline = inTime(choice.seconds, signal);
        return await serve(end, peer, deadline.signal);
      }
    },
    client: async (server, signal) => {
      using context = Context.open(port.device);
      using deadline = inTime(choice.seconds, signal);
      await write(makeEnd(context, port, 0), server, deadline.signal, lines);
    },
  });
});

interface End {
  readonly qp: QueuePair;
  readonly cq: CompletionQueue;
  readonly mr: MemoryRegion;
}

/** Disposing the context disposes all of it. */
function makeEnd(context: Context, { portNum, gidIndex }: Port, access: number): End {
  const pd = new ProtectionDomain(context);
  const cq = new CompletionQueue(context, { cqe: 2 * SLOTS });
  const cap = { maxSendWr: SLOTS, maxRecvWr: SLOTS };
  const qp = new QueuePair(pd, { qpType: QpType.RC, sendCq: cq, recvCq: cq, cap });
  const index = gidIndex ?? context.recommendGid(portNum).gidIndex;
  // A peer may do with memory what both the queue pair and the memory region permit.
  qp.init({ portNum, gidIndex: index, qpAccessFlags: access });
  return { qp, cq, mr: new MemoryRegion(pd, SLOTS * SLOT_SIZE, access) };
}

/** Both ends need the address of the other: a reliable connection has exactly two ends. */
async function meet({ qp, mr }: End, peer: Exchange): Promise<Offer> {
  const own: Offer = { address: qp.address, addr: `${mr.addr}`, rkey: mr.rkey };
  const offer = await peer(own) as Offer;
  // The other end may be slower. The device repeats packets until that queue pair is ready.
  qp.activateRc(offer.address);
  return offer;
}

async function serve(end: End, peer: Exchange, signal: AbortSignal): Promise<void> {
  await meet(end, peer);
  for await (const wc of end.cq.completions({ signal })) {
    const { byteLen, immData } = wc.check();
    const slot = immData & ~LAST;
    // The number comes from the other end. Anything may be in it.
    if (slot >= SLOTS) throw new Error(`The client named slot ${slot}, and there are ${SLOTS}`);
    const line = new TextDecoder().decode(end.mr.sge(slot * SLOT_SIZE, byteLen).bytes);
    console.log(`server: slot ${slot} has ${Deno.inspect(line)} (${byteLen} bytes)`);
    if (immData & LAST) break;
  }
  // The last acknowledgement may be on its way. Destroying the queue pair now could stop it.
  await peer("done");
}

async function write(
  end: End,
  peer: Exchange,
  signal: AbortSignal,
  lines: readonly Uint8Array[],
): Promise<void> {
  const { addr, rkey } = await meet(end, peer);
  for (const [slot, line] of lines.entries()) {
    const sge = end.mr.sge(slot * SLOT_SIZE, line.length);
    sge.bytes.set(line);
    end.qp.postSend({
      opcode: WrOpcode.RDMA_WRITE_WITH_IMM,
      sge,
      remoteAddr: BigInt(addr) + BigInt(slot * SLOT_SIZE),
      rkey,
      immData: slot === lines.length - 1 ? (slot | LAST) >>> 0 : slot,
    });
  }
  let completed = 0;
  for await (const wc of end.cq.completions({ signal })) {
    wc.check();
    if (++completed === lines.length) break;
  }
  // On RC a completion means that the data is in the memory of the other end.
  console.log(`client: wrote ${completed} lines into the server's memory`);
  await peer("done");
}

if (import.meta.main) Deno.exitCode = await main(Deno.args);

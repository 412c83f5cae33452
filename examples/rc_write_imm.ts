/**
 * RDMA write with immediate data. The client writes into the memory of the server, over a reliable connection (RC). The
 * server's program does not take part in the copy. The immediate data, a number of 32 bits, tells the server that a write
 * has arrived, and where.
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
import { quote } from "../internal/checks.ts";
import { program, text, UsageError } from "./support/command_line.ts";
import {
  ENDS,
  ENDS_HELP,
  gidIndexOf,
  PORT,
  PORT_HELP,
  type PortChoice,
  runEnds,
} from "./support/ends.ts";
import type { Exchange } from "./support/exchange.ts";
import { type Wait, within } from "./support/signals.ts";

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

/** What an end tells the other one. */
interface Offer {
  readonly address: QpAddress;
  /** Where the memory is. JSON has no integers of 64 bits, so it is text. */
  readonly addr: string;
  /** The key that permits the write. */
  readonly rkey: number;
}

// The immediate data is ours: the number of the slot, and whether it is the last one.
const LAST = 0x8000_0000;

/** Writes with immediate data. */
export const main = program({
  name: "rc_write_imm",
  help: HELP,
  options: { ...PORT, ...ENDS, message: text("m", "RDMA write/with immediate/data") },
  run: async (options) => {
    const lines = options.message.split("/").map((line) => new TextEncoder().encode(line));
    if (lines.length > SLOTS || lines.some(({ length }) => length > SLOT_SIZE)) {
      throw new UsageError(`--message takes ${SLOTS} lines of ${SLOT_SIZE} bytes at most`);
    }
    await runEnds(options, {
      server: async (peers, wait) => {
        using context = Context.open(options.device);
        const end = makeEnd(context, options, AccessFlags.LOCAL_WRITE | AccessFlags.REMOTE_WRITE);
        // Each write with immediate consumes a receive. It needs no memory: the client chooses where the data goes.
        for (let i = 0; i < SLOTS; i++) end.qp.postRecv({});
        for await (const peer of peers) return await serve(end, peer, wait);
      },
      client: async (server, wait) => {
        using context = Context.open(options.device);
        await write(makeEnd(context, options, 0), server, wait, lines);
      },
    });
  },
});

interface End {
  readonly qp: QueuePair;
  readonly cq: CompletionQueue;
  readonly mr: MemoryRegion;
}

/** Disposing the context disposes all of it. */
function makeEnd(context: Context, options: PortChoice, access: number): End {
  const pd = new ProtectionDomain(context);
  const cq = new CompletionQueue(context, { cqe: 2 * SLOTS });
  const cap = { maxSendWr: SLOTS, maxRecvWr: SLOTS };
  const qp = new QueuePair(pd, { type: QpType.RC, sendCq: cq, recvCq: cq, cap });
  const gidIndex = gidIndexOf(context, options);
  // A peer may do with memory what both the queue pair and the memory region permit.
  qp.init({ portNum: options.port, gidIndex, qpAccessFlags: access });
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

async function serve(end: End, peer: Exchange, wait: Wait): Promise<void> {
  await meet(end, peer);
  using deadline = within(wait, "No write arrived");
  for await (const wc of end.cq.completions({ signal: deadline.signal })) {
    const { byteLen, immData } = wc.check();
    const slot = immData & ~LAST;
    // The number comes from the other end. Anything may be in it.
    if (slot >= SLOTS) throw new Error(`The client named slot ${slot}, and there are ${SLOTS}`);
    const line = new TextDecoder().decode(end.mr.bytes(slot * SLOT_SIZE, byteLen));
    console.log(`server: slot ${slot} has ${quote(line)} (${byteLen} bytes)`);
    if (immData & LAST) break;
  }
  // The last acknowledgement may be on its way. Destroying the queue pair now could stop it.
  await peer("done");
}

async function write(
  end: End,
  peer: Exchange,
  wait: Wait,
  lines: readonly Uint8Array[],
): Promise<void> {
  const { addr, rkey } = await meet(end, peer);
  for (const [slot, line] of lines.entries()) {
    const sge = end.mr.slice(slot * SLOT_SIZE, line.length);
    sge.bytes.set(line);
    end.qp.postSend({
      opcode: WrOpcode.RDMA_WRITE_WITH_IMM,
      sge,
      remoteAddr: BigInt(addr) + BigInt(slot * SLOT_SIZE),
      rkey,
      immData: slot === lines.length - 1 ? (slot | LAST) >>> 0 : slot,
    });
  }
  using deadline = within(wait, "The writes did not complete");
  let completed = 0;
  for await (const wc of end.cq.completions({ signal: deadline.signal })) {
    wc.check();
    if (++completed === lines.length) break;
  }
  // On RC a completion means that the data is in the memory of the other end.
  console.log(`client: wrote ${completed} lines into the server's memory`);
  await peer("done");
}

if (import.meta.main) Deno.exitCode = await main(Deno.args);

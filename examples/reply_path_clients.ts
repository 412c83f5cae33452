/**
 * Answers the datagrams of many clients. A reply needs an address handle. Making one takes a system call, and it may block
 * while the kernel asks the network for the peer. A `ReplyPath` keeps the handles of known peers.
 *
 * ```text
 * server: answered 160 datagrams of 16 clients with 1 address handle
 * client: 16 clients got the answers to 10 datagrams each
 * ```
 *
 * @module
 */

import {
  AccessFlags,
  CompletionQueue,
  Context,
  Grh,
  MemoryRegion,
  ProtectionDomain,
  QpType,
  QueuePair,
  ReplyPath,
  WcOpcode,
  type WorkCompletion,
} from "@rdma/ibverbs";
import { listenUd, type UdAddress, type UdConn } from "@rdma/ibverbs/net";
import { choiceOf, ENDS, ENDS_HELP, giveAll, runEnds } from "./support/ends.ts";
import { PORT, type Port, PORT_HELP, portOf, program, whole } from "./support/program.ts";

const HELP = `Answers the datagrams of many clients.

  deno run --allow-ffi examples/reply_path_clients.ts [OPTIONS]
      runs the server and the clients in this process
  deno run --allow-ffi --allow-net examples/reply_path_clients.ts --listen [OPTIONS]
  deno run --allow-ffi --allow-net examples/reply_path_clients.ts --connect HOST [OPTIONS]
      starts the clients

  -n, --clients NUMBER    number of clients (default 16)
  -r, --rounds NUMBER     datagrams that each client sends (default 10)
${PORT_HELP}
${ENDS_HELP}
`;

const QKEY = 0x1111_1111;
/** Datagrams that are being received or answered. More than this at once are lost. */
const SLOTS = 256;
/** The largest MTU, whatever that of this port is: a longer datagram than a receive takes stops the queue pair. */
const LONGEST = 4096;

const OPTIONS = {
  ...PORT,
  ...ENDS,
  clients: { type: "string", short: "n", default: "16" },
  rounds: { type: "string", short: "r", default: "10" },
} as const;

/** Answers many clients. */
export const main = program(
  "reply_path_clients",
  HELP,
  { options: OPTIONS },
  async ({ values }) => {
    const [choice, port] = [choiceOf(values), portOf(values)];
    const clients = whole(values.clients, "clients", 1, 1000);
    const rounds = whole(values.rounds, "rounds", 1, 1_000_000);
    await runEnds(choice, {
      server: async (peers, _signal, done) => {
        using context = Context.open(port.device);
        const server = makeServer(context, port);
        const { gid, lid, qpNum } = server.qp.address;
        const giving = giveAll(peers, { transport: "UD", gid, lid, qpNum, qkey: QKEY });
        await Promise.all([giving, serve(server, done)]);
      },
      client: async (server, signal) => {
        const address = await server(null) as UdAddress;
        // A client has few datagrams in progress, so it needs little memory.
        const depths = { recvDepth: 4, sendDepth: 4, maxQueued: 4, maxPeers: 1 };
        const all = Array.from({ length: clients }, async (_, client) => {
          await using socket = await listenUd({ ...port, ...depths, qkey: QKEY, signal });
          for (let round = 0; round < rounds; round++) {
            await ask(socket, address, `client ${client}, round ${round}`, choice.seconds);
          }
        });
        await Promise.all(all);
        console.log(`client: ${clients} clients got the answers to ${rounds} datagrams each`);
      },
    });
  },
);

/** A datagram or its answer can be lost: this asks again each second. Late answers to earlier questions are ignored. */
async function ask(
  socket: UdConn,
  server: UdAddress,
  question: string,
  seconds: number,
): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    await socket.send(new TextEncoder().encode(question), server);
    const late = AbortSignal.timeout(1000);
    try {
      while (true) {
        const [answer] = await socket.receive({ signal: late });
        if (new TextDecoder().decode(answer) === question) return;
      }
    } catch (error) {
      if (error !== late.reason) throw error;
    }
  }
  throw new Error(`Nobody answered within ${seconds} s`);
}

interface Server {
  readonly cq: CompletionQueue;
  readonly qp: QueuePair;
  readonly mr: MemoryRegion;
  readonly path: ReplyPath;
  readonly slotSize: number;
}

/** Disposing the context disposes all of it. */
function makeServer(context: Context, { portNum, gidIndex }: Port): Server {
  const pd = new ProtectionDomain(context);
  // A slot is in a receive or in a send, so there are never more than SLOTS completions.
  const cq = new CompletionQueue(context, { cqe: SLOTS });
  const cap = { maxSendWr: SLOTS, maxRecvWr: SLOTS };
  const qp = new QueuePair(pd, { qpType: QpType.UD, sendCq: cq, recvCq: cq, cap });
  const index = gidIndex ?? context.recommendGid(portNum).gidIndex;
  qp.activateUd({ portNum, gidIndex: index, qkey: QKEY });
  const slotSize = Grh.SIZE + LONGEST;
  const mr = new MemoryRegion(pd, SLOTS * slotSize, AccessFlags.LOCAL_WRITE);
  const server = { cq, qp, mr, path: new ReplyPath(pd, { portNum }), slotSize };
  for (let slot = 0; slot < SLOTS; slot++) receive(server, slot * slotSize);
  return server;
}

/** Answers until the signal aborts. */
async function serve(server: Server, signal: AbortSignal): Promise<void> {
  const clients = new Set<number>();
  let answered = 0;
  try {
    for await (const wc of server.cq.completions({ signal })) {
      if (wc.check().opcode === WcOpcode.RECV) {
        clients.add(wc.srcQp);
        // Not awaited: a peer that does not answer the kernel must not delay the others.
        answer(server, wc).then((isAnswered) => answered += Number(isAnswered));
      } else receive(server, Number(wc.wrId));
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  // A handle is for a host, not for a queue pair: clients on one host share it.
  const handles = server.path.size === 1
    ? "1 address handle"
    : `${server.path.size} address handles`;
  console.log(`server: answered ${answered} datagrams of ${clients.size} clients with ${handles}`);
}

/** The number of the request is the offset of its slot. The completion carries it. */
function receive({ qp, mr, slotSize }: Server, offset: number): void {
  qp.postRecv({ wrId: offset, sge: mr.sge(offset, slotSize) });
}

/** Whether an answer could be sent. */
async function answer(server: Server, wc: WorkCompletion): Promise<boolean> {
  const { qp, mr, path } = server;
  const offset = Number(wc.wrId);
  try {
    const ah = await path.toAsync(wc, mr.grhAt(offset));
    // The payload is behind the GRH. The reply leaves from where the question arrived, without a copy.
    const sge = mr.sge(offset + Grh.SIZE, wc.byteLen - Grh.SIZE);
    qp.postSend({ wrId: offset, sge, ah, remoteQpn: wc.srcQp, remoteQkey: QKEY });
    return true;
  } catch (error) {
    if (qp.disposed) return false;
    // A peer that cannot be reached is no reason to end. Its slot is free again.
    receive(server, offset);
    console.error(`server: ${error instanceof Error ? error.message : error}`);
    return false;
  }
}

if (import.meta.main) Deno.exitCode = await main(Deno.args);

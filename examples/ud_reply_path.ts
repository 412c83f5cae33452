/**
 * The reply path of unreliable datagrams (UD). A message arrives, and the answer goes to its sender, whose address the
 * receiver did not know before. The address is in the message: the queue pair number is in the work completion, and the
 * GID is in the header (GRH) that the device writes in front of the payload.
 *
 * There are two ends: a listener, which answers the first message that arrives, and a caller. The example prints
 * all that it uses on the way:
 *
 * ```text
 * caller: sending "Hello" to queue pair 0x000012 at ::ffff:10.0.0.1
 * listener: received "Hello"
 * the header (struct ibv_grh) {
 *   ...
 *   saddr: "10.0.0.1",
 *   daddr: "10.0.0.1"
 * }
 * ...
 * listener: replied to queue pair 0x000013 at ::ffff:10.0.0.1
 * caller: received "5 bytes came from queue pair 0x000013 at ::ffff:10.0.0.1"
 * caller: round trip 412 us, including the listener's new address handle
 * ```
 *
 * @module
 */

import {
  AccessFlags,
  AddressHandle,
  CompletionQueue,
  Context,
  Gid,
  Grh,
  initAhFromWc,
  MemoryRegion,
  mtuBytes,
  ProtectionDomain,
  QpType,
  QueuePair,
  WcOpcode,
  type WorkCompletion,
} from "@rdma/ibverbs";
import { choiceOf, ENDS, ENDS_HELP, runEnds } from "./support/ends.ts";
import { inTime, PORT, PORT_HELP, portOf, program, UsageError } from "./support/program.ts";

const HELP = `Answers a datagram by the address that arrived with it.

  deno run --allow-ffi examples/ud_reply_path.ts [OPTIONS]
      runs both ends in this process
  deno run --allow-ffi --allow-net examples/ud_reply_path.ts --listen [OPTIONS]
      waits for one message and answers it
  deno run --allow-ffi --allow-net examples/ud_reply_path.ts --connect HOST [OPTIONS]
      gets the address of the listener on HOST by TCP and sends it a message

  -m, --message TEXT      message to send (default "Hello")
${PORT_HELP}
${ENDS_HELP}

Exit status: 0 after a reply, 2 if the command line is wrong, 1 otherwise.
`;

// The receiving device drops datagrams with another key. Any value works if both ends use the same.
const QKEY = 0x1111_1111;

const RECV = 1;
const SEND = 2;
/** The largest MTU, whatever that of this port is: a longer datagram than the receive takes stops the queue pair. */
const LONGEST = 4096;

/** The address of the listener. The listener gets no address of the caller: that arrives with the message. */
interface Destination {
  readonly gid: Gid;
  /** LID of the port, an address within an InfiniBand subnet. It is 0 on RoCE. */
  readonly lid: number;
  readonly qpNum: number;
}

const OPTIONS = {
  ...PORT,
  ...ENDS,
  message: { type: "string", short: "m", default: "Hello" },
} as const;

/** Answers a datagram, and shows all that it uses. */
export const main = program("ud_reply_path", HELP, { options: OPTIONS }, async ({ values }) => {
  const { message } = values;
  const [choice, { device, portNum, gidIndex }] = [choiceOf(values), portOf(values)];
  using context = Context.open(device);
  const entry = gidIndex === undefined
    ? context.recommendGid(portNum)
    : { ...context.queryGidEx(portNum, gidIndex), reason: "given" };
  const { lid, activeMtu } = context.queryPort(portNum);
  const { length } = new TextEncoder().encode(message);
  const mtu = mtuBytes(activeMtu);
  // A datagram is one packet.
  if (length > mtu) {
    throw new UsageError(`--message has ${length} bytes, and the MTU of port ${portNum} is ${mtu}`);
  }
  console.log(`device ${context.device.name}, port ${portNum}`);
  console.log(`GID index ${entry.gidIndex}, ${entry.gid}: ${entry.reason}`);
  await runEnds(choice, {
    server: async (peers, signal) => {
      const endpoint = makeEndpoint(context, portNum);
      for await (const peer of peers) {
        await peer({ gid: entry.gid, lid, qpNum: endpoint.qp.qpNum });
        using deadline = inTime(choice.seconds, signal);
        return await answer(endpoint, portNum, deadline.signal);
      }
    },
    client: async (peer, signal) => {
      const endpoint = makeEndpoint(context, portNum);
      const { gid: dgid, lid: dlid, qpNum } = readDestination(await peer(null));
      const grh = { dgid, sgidIndex: entry.gidIndex, hopLimit: 64 };
      using ah = await AddressHandle.createAsync(endpoint.pd, { portNum, dlid, grh });
      const destination = { gid: dgid, lid: dlid, qpNum };
      using deadline = inTime(choice.seconds, signal);
      await call(endpoint, ah, destination, message, deadline.signal);
    },
  });
});

/** The verbs objects of one end. */
interface Endpoint {
  readonly pd: ProtectionDomain;
  readonly cq: CompletionQueue;
  readonly qp: QueuePair;
  readonly mr: MemoryRegion;
  /** Byte offset in `mr` of the message to send. The received message is at offset 0. */
  readonly sendAt: number;
}

/** Makes an end with a receive. Disposing the context disposes all of it. */
function makeEndpoint(context: Context, port: number): Endpoint {
  // A queue pair can only use memory and address handles of its own protection domain.
  const pd = new ProtectionDomain(context);
  // One completion queue serves sends and receives. Each end has at most one of each at a time.
  const cq = new CompletionQueue(context, { cqe: 2 });
  const cap = { maxSendWr: 1, maxRecvWr: 1 };
  const qp = new QueuePair(pd, { qpType: QpType.UD, sendCq: cq, recvCq: cq, cap });
  qp.activateUd({ portNum: port, qkey: QKEY });
  // The device writes the GRH in front of a message.
  const sendAt = Grh.SIZE + LONGEST;
  const mr = new MemoryRegion(pd, sendAt + LONGEST, AccessFlags.LOCAL_WRITE);
  // A datagram is lost if no receive is posted. So post one before anybody knows the address.
  qp.postRecv({ wrId: RECV, sge: mr.sge(0, sendAt) });
  return { pd, cq, qp, mr, sendAt };
}

/** Answers the first datagram that arrives. */
async function answer(endpoint: Endpoint, port: number, signal: AbortSignal): Promise<void> {
  const { pd, mr } = endpoint;
  const wc = await completionOf(endpoint, WcOpcode.RECV, signal);
  const grh = mr.grhAt(0);
  // This swaps source and destination, and finds the GID that the message was sent to in the port's table: the reply must
  // come from the address that the caller knows. AddressHandle.fromWc(pd, port, wc, grh) does this step and the next.
  const attr = initAhFromWc(pd.context, port, wc, grh);
  // On RoCE the system resolves the Ethernet address of the next hop. That may block, so use the asynchronous form.
  using ah = await AddressHandle.createAsync(pd, attr);
  // The completion has the sender's queue pair number. The sender uses the same qkey.
  const from = `queue pair ${hex(wc.srcQp)} at ${attr.isGlobal ? attr.grh.dgid : attr.dlid}`;
  send(endpoint, `${wc.byteLen - Grh.SIZE} bytes came from ${from}`, ah, wc.srcQp);
  await completionOf(endpoint, WcOpcode.SEND, signal);

  // Print after the reply: printing must not lengthen the caller's round trip.
  console.log(`listener: received ${Deno.inspect(received(endpoint, wc))}`);
  // On RoCE v2 over IPv4 the header is one of IPv4, in the last 20 bytes.
  console.log("the header (struct ibv_grh)", grh.ipVersion === 4 ? grh.ipv4 : grh);
  console.log("the completion (struct ibv_wc)", wc);
  console.log("the address of the sender (struct ibv_ah_attr)", attr);
  console.log(`listener: replied to ${from}`);
}

/** Sends a message and waits for the answer. */
async function call(
  endpoint: Endpoint,
  ah: AddressHandle,
  { gid, qpNum }: Destination,
  message: string,
  signal: AbortSignal,
): Promise<void> {
  console.log(`caller: sending ${JSON.stringify(message)} to queue pair ${hex(qpNum)} at ${gid}`);
  const start = performance.now();
  send(endpoint, message, ah, qpNum);
  const wc = await completionOf(endpoint, WcOpcode.RECV, signal);
  const microseconds = Math.round((performance.now() - start) * 1000);
  console.log(`caller: received ${Deno.inspect(received(endpoint, wc))}`);
  console.log(`caller: round trip ${microseconds} us, including the listener's new address handle`);
}

function send({ qp, mr, sendAt }: Endpoint, text: string, ah: AddressHandle, qpNum: number): void {
  const message = new TextEncoder().encode(text);
  const sge = mr.sge(sendAt, message.length);
  sge.bytes.set(message);
  qp.postSend({ wrId: SEND, sge, ah, remoteQpn: qpNum, remoteQkey: QKEY });
}

/** Waits for a completion with that opcode, but not for ever: lost datagrams are not sent again. */
async function completionOf(
  { cq }: Endpoint,
  opcode: WcOpcode,
  signal: AbortSignal,
): Promise<WorkCompletion> {
  for await (const wc of cq.completions({ signal })) {
    if (wc.check().opcode === opcode) return wc;
  }
  throw new Error("Cannot wait for completion: the completion queue has ended");
}

/** The number of a queue pair, as C's tools print it. */
function hex(qpNum: number): string {
  return `0x${qpNum.toString(16).padStart(6, "0")}`;
}

function received({ mr }: Endpoint, wc: WorkCompletion): string {
  return new TextDecoder().decode(mr.sge(Grh.SIZE, wc.byteLen - Grh.SIZE).bytes);
}

/** The listener may be another program: its numbers are checked when they are used. */
function readDestination(value: unknown): Destination {
  const { gid, lid, qpNum } = value as Record<keyof Destination, unknown>;
  return { gid: Gid.parse(String(gid)), lid: Number(lid), qpNum: Number(qpNum) };
}

if (import.meta.main) Deno.exitCode = await main(Deno.args);

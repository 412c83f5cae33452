/**
 * The reply path of unreliable datagrams (UD). A message arrives, and the answer goes to its sender, whose address nobody
 * told the receiver. The address is in the message: the queue pair number is in the work completion, and the GID is in the
 * header (GRH) that the device writes in front of the payload.
 *
 * There are two ends: a listener, which answers the first message that arrives, and a caller. Both run in this process,
 * or each in its own with --listen and --connect.
 *
 * @module
 */

import {
  AccessFlags,
  AddressHandle,
  CompletionQueue,
  Context,
  Gid,
  type GidEntry,
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
import { parseArgs } from "@std/cli/parse-args";
import { MAX_SECONDS, run, UsageError, wholeNumber } from "./support/command_line.ts";
import { describeAhAttr, describeGrh, describeWc, hex } from "./support/describe.ts";
import { printable } from "./support/printable.ts";
import { getText, giveText, within } from "./support/rendezvous.ts";

const HELP = `Answers a datagram by the address that arrived with it.

  deno run --allow-ffi examples/ud_reply_path.ts [OPTIONS]
      runs both ends in this process
  deno run --allow-ffi --allow-net examples/ud_reply_path.ts --listen [OPTIONS]
      waits for one message and answers it
  deno run --allow-ffi --allow-net examples/ud_reply_path.ts --connect HOST [OPTIONS]
      gets the address of the listener on HOST by TCP and sends it a message

  -d, --device NAME       RDMA device (default: the first one with an active port)
  -i, --port NUMBER       port of the device (default 1)
  -g, --gid-index NUMBER  index of the GID to send from in the port's table (default: the one that
                          reaches most peers)
  -m, --message TEXT      message to send (default "Hello")
  -p, --tcp-port NUMBER   TCP port of the listener (default 18516)
  -t, --timeout SECONDS   how long to wait for the other end (default 10)
  -h, --help              show this text

Exit status: 0 after a reply, 2 if the command line is wrong, 1 otherwise.
`;

interface Options {
  readonly device: string | undefined;
  readonly port: number;
  readonly gidIndex: number | undefined;
  readonly message: string;
  readonly tcpPort: number;
  readonly timeout: number;
}

/** The address of the listener, which the caller gets by TCP. The listener gets no address of the caller. */
interface Destination {
  readonly gid: Gid;
  /** LID of the port, an address within an InfiniBand subnet. It is 0 on RoCE. */
  readonly lid: number;
  readonly qpn: number;
}

// The receiving device drops datagrams with another key. Any value works if both ends use the same.
const QKEY = 0x1111_1111;

const RECV = 1;
const SEND = 2;

/** The verbs objects of one end. */
interface Endpoint extends Disposable {
  readonly pd: ProtectionDomain;
  readonly cq: CompletionQueue;
  readonly qp: QueuePair;
  readonly mr: MemoryRegion;
  /** Byte offset in `mr` of the message to send. The received message is at offset 0. */
  readonly sendAt: number;
}

function openEndpoint(context: Context, { port }: Options): Endpoint {
  using stack = new DisposableStack();
  // A queue pair can only use memory and address handles of its own protection domain.
  const pd = stack.use(new ProtectionDomain(context));
  // One completion queue serves sends and receives. Each end has at most one of each at a time.
  const cq = stack.use(new CompletionQueue(context, { cqe: 2 }));
  const cap = { maxSendWr: 1, maxRecvWr: 1 };
  const qp = stack.use(new QueuePair(pd, { type: QpType.UD, sendCq: cq, recvCq: cq, cap }));
  qp.activateUd({ port, qkey: QKEY });
  // A datagram is one packet, so a message is at most one MTU long. The device writes the GRH in front of it.
  const mtu = mtuBytes(context.queryPort(port).activeMtu);
  const sendAt = Grh.SIZE + mtu;
  const mr = stack.use(new MemoryRegion(pd, sendAt + mtu, AccessFlags.LOCAL_WRITE));
  // A datagram is lost if no receive is posted. So post one before anybody knows the address.
  qp.postRecv({ wrId: RECV, sge: mr.slice(0, sendAt) });
  const owned = stack.move();
  return { pd, cq, qp, mr, sendAt, [Symbol.dispose]: () => owned.dispose() };
}

/** Answers the first datagram that arrives. */
async function listen(
  context: Context,
  gid: GidEntry,
  options: Options,
  publish: (here: Destination) => Promise<void> | void,
): Promise<void> {
  using endpoint = openEndpoint(context, options);
  const { lid } = context.queryPort(options.port);
  await publish({ gid: gid.gid, lid, qpn: endpoint.qp.qpNum });

  const wc = await completionOf(endpoint, WcOpcode.RECV, options);
  const grh = endpoint.mr.grhAt(0);
  // This swaps source and destination, and finds the GID that the message was sent to in the port's table: the reply must
  // come from the address that the caller knows. AddressHandle.fromWc(pd, port, wc, grh) does this step and the next.
  const attr = initAhFromWc(context, options.port, wc, grh);
  // On RoCE the system resolves the Ethernet address of the next hop. That may block, so use the asynchronous form.
  using ah = await AddressHandle.create(endpoint.pd, attr);
  // The completion has the sender's queue pair number. The sender uses the same qkey.
  const from = `queue pair ${hex(wc.srcQp, 6)} at ${attr.isGlobal ? attr.grh.dgid : attr.dlid}`;
  send(endpoint, `${wc.byteLen - Grh.SIZE} bytes came from ${from}`, ah, wc.srcQp);
  await completionOf(endpoint, WcOpcode.SEND, options);

  // Print after the reply: printing must not lengthen the caller's round trip.
  console.log(`listener: received ${printable(received(endpoint, wc))}`);
  console.log([describeGrh(grh), describeWc(wc), describeAhAttr(attr)].join("\n"));
  console.log(`listener: replied to ${from}`);
}

/** Sends a message and waits for the answer. */
async function call(
  context: Context,
  gid: GidEntry,
  options: Options,
  destination: Destination,
): Promise<void> {
  using endpoint = openEndpoint(context, options);
  using ah = await AddressHandle.create(endpoint.pd, {
    portNum: options.port,
    dlid: destination.lid,
    grh: { dgid: destination.gid, sgidIndex: gid.gidIndex, hopLimit: 64 },
  });
  const to = `queue pair ${hex(destination.qpn, 6)} at ${destination.gid}`;
  console.log(`caller: sending ${JSON.stringify(options.message)} to ${to}`);

  const start = performance.now();
  send(endpoint, options.message, ah, destination.qpn);
  const wc = await completionOf(endpoint, WcOpcode.RECV, options);
  const microseconds = Math.round((performance.now() - start) * 1000);

  console.log(`caller: received ${printable(received(endpoint, wc))}`);
  console.log(`caller: round trip ${microseconds} us, including the listener's new address handle`);
}

function send({ qp, mr, sendAt }: Endpoint, text: string, ah: AddressHandle, qpn: number): void {
  const message = new TextEncoder().encode(text);
  const sge = mr.slice(sendAt, message.length);
  sge.bytes.set(message);
  qp.postSend({ wrId: SEND, sge, ah, remoteQpn: qpn, remoteQkey: QKEY });
}

/** Waits for a completion with that opcode. Throws if a completion has an error. */
async function completionOf(
  { cq }: Endpoint,
  opcode: WcOpcode,
  { timeout }: Options,
): Promise<WorkCompletion> {
  // Lost datagrams are not sent again, so the wait needs an end.
  const late = opcode === WcOpcode.RECV ? "No datagram arrived" : "No send completed";
  using deadline = within(timeout, late);
  const { signal } = deadline;
  for await (const wc of cq.completions({ signal })) {
    if (wc.check().opcode === opcode) return wc;
  }
  throw new Error("Cannot wait for completion: the completion queue has ended");
}

function received({ mr }: Endpoint, wc: WorkCompletion): string {
  return new TextDecoder().decode(mr.bytes(Grh.SIZE, wc.byteLen - Grh.SIZE));
}

async function both(context: Context, gid: GidEntry, options: Options): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<Destination>();
  await Promise.all([
    listen(context, gid, options, resolve),
    promise.then((destination) => call(context, gid, options, destination)),
  ]);
}

/** Sends the listener's address to the first caller. */
async function publishByTcp({ gid, lid, qpn }: Destination, options: Options): Promise<void> {
  const { tcpPort, timeout } = options;
  console.log(`listener: queue pair ${hex(qpn, 6)}, waiting for a caller on TCP port ${tcpPort}`);
  using deadline = within(timeout, "Nobody connected");
  await giveText(JSON.stringify({ gid, lid, qpn }), tcpPort, deadline.signal);
}

/** Gets the listener's address. */
async function askByTcp(hostname: string, { tcpPort, timeout }: Options): Promise<Destination> {
  using deadline = within(timeout, `${hostname} did not send its address`);
  const text = await getText(hostname, tcpPort, deadline.signal);
  try {
    const { gid, lid, qpn } = JSON.parse(text);
    return { gid: Gid.parse(gid), lid, qpn };
  } catch {
    throw new Error(`${hostname} sent ${printable(text)} instead of an address`);
  }
}

async function main(args: readonly string[]): Promise<void> {
  const flags = parseArgs(args, {
    boolean: ["help", "listen"],
    string: ["_", "connect", "device", "port", "gid-index", "message", "tcp-port", "timeout"],
    alias: {
      d: "device",
      g: "gid-index",
      h: "help",
      i: "port",
      m: "message",
      p: "tcp-port",
      t: "timeout",
    },
    default: { message: "Hello", port: "1", "tcp-port": "18516", timeout: "10" },
    unknown: (argument) => {
      throw new UsageError(`"${argument}" is not an option`);
    },
  });
  if (flags.help) return console.log(HELP);
  if (flags.listen && flags.connect !== undefined) {
    throw new UsageError("Give --listen or --connect, not both");
  }
  const options: Options = {
    device: flags.device,
    port: wholeNumber("--port", flags.port, 1, 255),
    gidIndex: flags["gid-index"] === undefined
      ? undefined
      : wholeNumber("--gid-index", flags["gid-index"], 0, 255),
    message: flags.message,
    tcpPort: wholeNumber("--tcp-port", flags["tcp-port"], 1, 65535),
    timeout: wholeNumber("--timeout", flags.timeout, 1, MAX_SECONDS),
  };
  using context = Context.open(options.device);
  const entry = options.gidIndex === undefined
    ? context.recommendGid(options.port)
    : { ...context.queryGidEx(options.port, options.gidIndex), reason: "given" };
  console.log(`device ${context.device.name}, port ${options.port}`);
  console.log(`GID index ${entry.gidIndex}, ${entry.gid}: ${entry.reason}`);
  checkMessage(context, options);
  if (flags.listen) {
    await listen(context, entry, options, (here) => publishByTcp(here, options));
  } else if (flags.connect !== undefined) {
    await call(context, entry, options, await askByTcp(flags.connect, options));
  } else {
    await both(context, entry, options);
  }
}

function checkMessage(context: Context, { message, port }: Options): void {
  const { length } = new TextEncoder().encode(message);
  const mtu = mtuBytes(context.queryPort(port).activeMtu);
  if (length <= mtu) return;
  throw new UsageError(`--message has ${length} bytes, and the MTU of port ${port} is ${mtu}`);
}

await run("ud_reply_path", () => main(Deno.args));

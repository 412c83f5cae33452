/**
 * The reply path of unreliable datagrams (UD): a message comes in, and the answer goes to whoever sent it, though
 * nobody said who that was. The sender's address is in the message itself: its queue pair in the work completion, its
 * GID in the header (GRH) that the device puts in front of the payload.
 *
 * Two ends take part: a listener, which answers the first message that reaches it, and a caller. Both run in this
 * process, or each in its own with --listen and --connect.
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
import { chooseGid } from "./support/choose_gid.ts";
import { run, UsageError, wholeNumber } from "./support/command_line.ts";
import { Deadline } from "./support/deadline.ts";
import { describeAhAttr, describeGrh, describeWc, hex } from "./support/describe.ts";
import { acceptOne, connectTo, readBytes, writeBytes } from "./support/tcp.ts";

const HELP = `Answers a datagram by the address that arrived with it.

  deno run --allow-ffi examples/ud_reply_path.ts [OPTIONS]
      both ends in this process
  deno run --allow-ffi --allow-net examples/ud_reply_path.ts --listen [OPTIONS]
      waits for one message and answers it
  deno run --allow-ffi --allow-net examples/ud_reply_path.ts --connect HOST [OPTIONS]
      asks the listener on HOST where it is, by TCP, and sends it a message

  -d, --device NAME      the RDMA device; the first one with an active port unless given
  -i, --port NUMBER      the device's port, 1
  -g, --gid-index NUMBER the GID to send from, as its index in the port's table; unless given, a
                         RoCE v2 one: IPv4 before global IPv6 before link-local
  -m, --message TEXT     what to send, "Hello"
  -p, --tcp-port NUMBER  the listener's TCP port, 18516
  -t, --timeout SECONDS  how long to wait for anything, 10
  -h, --help             show this text

Exit status: 0 after a reply, 2 for a wrong command line, 1 for anything else.
`;

interface Options {
  readonly device: string | undefined;
  readonly port: number;
  readonly gidIndex: number | undefined;
  readonly message: string;
  readonly tcpPort: number;
  readonly timeout: number;
}

/** Where the listener is: all that the caller is told beforehand. The listener is told nothing of the caller. */
interface Destination {
  readonly gid: Gid;
  /** InfiniBand's own address, of use within a subnet; 0 on RoCE. */
  readonly lid: number;
  readonly qpn: number;
}

// Datagrams with another key are dropped by the receiving device. Both ends must agree on one; any will do.
const QKEY = 0x1111_1111;

const RECV = 1n;
const SEND = 2n;

/** What one end of the conversation needs. */
interface Endpoint extends Disposable {
  readonly pd: ProtectionDomain;
  readonly cq: CompletionQueue;
  readonly qp: QueuePair;
  readonly mr: MemoryRegion;
  /** Where in `mr` the message to send lies, behind the room for the one to receive. */
  readonly sendAt: number;
}

function openEndpoint(context: Context, { port }: Options): Endpoint {
  using stack = new DisposableStack();
  // A protection domain says what may be used together: this queue pair, this memory and these addresses.
  const pd = stack.use(new ProtectionDomain(context));
  // One queue tells of sends and receives alike. Each end has at most one of both under way.
  const cq = stack.use(new CompletionQueue(context, { cqe: 2 }));
  const cap = { maxSendWr: 1, maxRecvWr: 1 };
  const qp = stack.use(new QueuePair(pd, { type: QpType.UD, sendCq: cq, recvCq: cq, cap }));
  qp.activateUd({ port, qkey: QKEY });
  // A datagram is one packet, so no message is longer than the MTU. The device writes the GRH in front of it.
  const mtu = mtuBytes(context.queryPort(port).activeMtu);
  const sendAt = Grh.SIZE + mtu;
  const mr = stack.use(new MemoryRegion(pd, sendAt + mtu, AccessFlags.LOCAL_WRITE));
  // A datagram that finds no receive posted is lost: post before anybody can know where to send.
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
  // Source and destination swapped, and the GID found in the port's table that the message was sent to: the reply must
  // come from the address the caller knows. AddressHandle.fromWc(pd, port, wc, grh) is this step and the next in one.
  const attr = initAhFromWc(context, options.port, wc, grh);
  // An address handle is the address in the device's own terms, the next hop's Ethernet address included. Resolving
  // that may block, hence the asynchronous form.
  using ah = await AddressHandle.create(endpoint.pd, attr);
  // The queue pair to answer to is in the completion; the key is the one that let the message in.
  const from = `queue pair ${hex(wc.srcQp, 6)} at ${attr.isGlobal ? attr.grh.dgid : attr.dlid}`;
  send(endpoint, `${wc.byteLen - Grh.SIZE} bytes came from ${from}`, ah, wc.srcQp);
  await completionOf(endpoint, WcOpcode.SEND, options);

  // Told only now, so that printing is no part of the caller's round trip.
  console.log(`listener: received ${JSON.stringify(received(endpoint, wc))}`);
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

  console.log(`caller: received ${JSON.stringify(received(endpoint, wc))}`);
  console.log(`caller: round trip ${microseconds} us, making the address handle included`);
}

function send({ qp, mr, sendAt }: Endpoint, text: string, ah: AddressHandle, qpn: number): void {
  const message = new TextEncoder().encode(text);
  const sge = mr.slice(sendAt, message.length);
  sge.bytes.set(message);
  qp.postSend({ wrId: SEND, sge, ah, remoteQpn: qpn, remoteQkey: QKEY });
}

/** Waits for a completion of that kind, and sees to it that none has failed. */
async function completionOf(
  { cq }: Endpoint,
  opcode: WcOpcode,
  { timeout }: Options,
): Promise<WorkCompletion> {
  // Datagrams are not repeated when they are lost, so waiting must end some time.
  const late = opcode === WcOpcode.RECV ? "No datagram arrived" : "No send completed";
  using deadline = new Deadline(timeout, late);
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

// Long enough for any address; whoever sends more is not the listener.
const MOST_BYTES = 256;

/** Tells the first caller where to send. */
async function publishByTcp({ gid, lid, qpn }: Destination, options: Options): Promise<void> {
  const { tcpPort, timeout } = options;
  console.log(`listener: queue pair ${hex(qpn, 6)}, waiting for a caller on TCP port ${tcpPort}`);
  using deadline = new Deadline(timeout, "Nobody connected");
  const { signal } = deadline;
  using connection = await acceptOne(tcpPort, signal);
  const text = JSON.stringify({ gid, lid, qpn });
  await writeBytes(connection, new TextEncoder().encode(text), signal);
}

/** Asks the listener where to send. */
async function askByTcp(hostname: string, { tcpPort, timeout }: Options): Promise<Destination> {
  using deadline = new Deadline(timeout, `${hostname} sent no address`);
  const { signal } = deadline;
  using connection = await connectTo(hostname, tcpPort, signal);
  const text = new TextDecoder().decode(await readBytes(connection, MOST_BYTES, signal));
  try {
    const { gid, lid, qpn } = JSON.parse(text);
    return { gid: Gid.parse(gid), lid, qpn };
  } catch {
    throw new Error(`${hostname} sent no address but ${JSON.stringify(text)}`);
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
    throw new UsageError("--listen and --connect are for one end each");
  }
  const options: Options = {
    device: flags.device,
    port: wholeNumber("--port", flags.port, 1, 255),
    gidIndex: flags["gid-index"] === undefined
      ? undefined
      : wholeNumber("--gid-index", flags["gid-index"], 0, 255),
    message: flags.message,
    tcpPort: wholeNumber("--tcp-port", flags["tcp-port"], 1, 65535),
    timeout: wholeNumber("--timeout", flags.timeout, 1),
  };
  using context = Context.open(options.device);
  const { entry, reason } = chooseGid(context, options.port, options.gidIndex);
  console.log(`device ${context.device.name}, port ${options.port}`);
  console.log(`GID index ${entry.gidIndex}, ${entry.gid}: ${reason}`);
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

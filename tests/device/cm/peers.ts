/** Programs of others that use librdmacm, and this library as their peer: in one guest, and between two. */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { type CmEvent, CmId, PortSpace, type SocketAddress, type UdParam } from "../../../cm.ts";
import {
  AddressHandle,
  type CompletionQueue,
  type MemoryRegion,
  QpState,
  QpType,
  type QueuePair,
  ReplyPath,
  type SendRequest,
  type WorkCompletion,
  WrOpcode,
} from "../../../mod.ts";
import { orAborted } from "../../../wait/abort.ts";
import { differs } from "../kernels.ts";
import type { Program } from "../programs.ts";
import { waitFor, withDeadline } from "../setup.ts";
import type { CmDevice } from "./cm_device.ts";

const GRH = 40;
const PYTHON = "/usr/bin/python3";
const SCRIPT = new URL("../../python/cm_peer.py", import.meta.url).pathname;
/** Far less than the minutes that a peer waits whose end of a connection nobody answers. */
const SOON_MS = 10_000;

type Command = [name: string, ...args: string[]];

/** A program: one side sends messages, and then the other as many. */
export interface Talk {
  readonly server: (host: string, port: string) => Command;
  readonly client: (host: string, port: string) => Command;
  /** The port, if the program has only one. */
  readonly port?: number;
  readonly portSpace?: PortSpace;
  /** Who sends first, and ends the connection. */
  readonly first: "client" | "server";
  /** How many messages each side sends, and of how many bytes. */
  readonly count: number;
  readonly size: number;
}

export const TALKS: Readonly<Record<string, Talk>> = {
  rdma_client: {
    server: (host, port) => ["rdma_server", "-s", host, "-p", port],
    client: (host, port) => ["rdma_client", "-s", host, "-p", port],
    first: "client",
    count: 1,
    size: 16,
  },
  ucmatose: {
    server: (host, port) => ["ucmatose", "-b", host, "-p", port],
    client: (host, port) => ["ucmatose", "-s", host, "-p", port],
    first: "server",
    count: 10,
    size: 100,
  },
  pyverbs: {
    server: (host, port) => [PYTHON, SCRIPT, "server", host, port],
    client: (host, port) => [PYTHON, SCRIPT, "client", host, port],
    first: "client",
    count: 1,
    size: 64,
  },
  udaddy: {
    server: (host) => ["udaddy", "-b", host],
    client: (host) => ["udaddy", "-s", host],
    port: 7174,
    portSpace: PortSpace.UDP,
    first: "client",
    count: 10,
    size: 100,
  },
};

type Messages = Pick<Talk, "count" | "size">;

/** A queue pair that has receives for all messages of its peer. It sends what it has received. */
interface End {
  readonly qp: QueuePair;
  readonly sends: CompletionQueue;
  readonly receives: CompletionQueue;
  readonly mr: MemoryRegion;
}

function endFor(bed: CmDevice, id: CmId, { count, size }: Messages): End {
  const [sends, receives] = [bed.newCq(), bed.newCq()];
  const cap = { maxSendWr: 16, maxRecvWr: 16 };
  const type = id.portSpace === PortSpace.UDP ? QpType.UD : QpType.RC;
  const qp = bed.newQp(type, { sendCq: sends, recvCq: receives, cap });
  const mr = bed.newMr();
  id.prepare(qp);
  const sge = type === QpType.UD ? mr.sge(0, GRH + size) : mr.sge(GRH, size);
  for (let i = 0; i < count; i++) qp.postRecv({ sge });
  return { qp, sends, receives, mr };
}

/** Sends all messages; datagrams go to an address. */
async function send(
  { qp, sends, mr }: End,
  { count, size }: Messages,
  to: Partial<SendRequest> = {},
): Promise<void> {
  for (let i = 0; i < count; i++) {
    qp.postSend({ ...to, sge: mr.sge(GRH, size) } as SendRequest);
  }
  for (const completion of await waitFor(sends, count)) completion.check();
}

/** Receives all messages of the peer, and returns the last completion. */
async function receive(
  { qp, receives }: End,
  { count, size }: Messages,
): Promise<WorkCompletion> {
  const completions = await waitFor(receives, count);
  const length = size + (qp.qpType === QpType.UD ? GRH : 0);
  assertEquals(completions.map((one) => one.check().byteLen), Array(count).fill(length));
  return completions.at(-1)!;
}

/** Datagrams whose receivers answer to the number in them. */
function datagram(qp: QueuePair, ah: AddressHandle, to: Pick<UdParam, "qpNum" | "qkey">): object {
  const { SEND_WITH_IMM } = WrOpcode;
  return { opcode: SEND_WITH_IMM, immData: qp.qpNum, ah, remoteQpn: to.qpNum, remoteQkey: to.qkey };
}

/** Connects to a program as soon as it listens. */
async function connectTo(
  bed: CmDevice,
  to: SocketAddress,
  talk: Messages & Pick<Talk, "portSpace">,
  isOver: () => boolean,
): Promise<{ id: CmId; end: End; answer: CmEvent }> {
  while (true) {
    const id = await bed.routed(to, talk.portSpace);
    const end = endFor(bed, id, talk);
    try {
      return { id, end, answer: await id.connect(end.qp) };
    } catch (error) {
      id.close();
      if (isOver()) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** A program ends soon after the connection has: nobody waits for the answer of the other. */
export async function assertEndsWell(program: Program): Promise<void> {
  const late = new Error("Cannot go on: the peer does not end");
  const { code, stderr, stdout } = await withDeadline(
    late,
    (signal) => orAborted(program.ending, signal),
  );
  assertEquals([code, stderr], [0, ""], stdout);
}

/** Exchanges all messages, and ends the connection, as one side of it. */
async function converse(
  { id, end }: { id: CmId; end: End },
  side: "client" | "server",
  talk: Talk,
): Promise<void> {
  if (side === talk.first) {
    await send(end, talk);
    await receive(end, talk);
    assertEquals(await id.disconnect({ timeout: SOON_MS }), true);
  } else {
    await receive(end, talk);
    await send(end, talk);
    await id.disconnected({ signal: AbortSignal.timeout(SOON_MS) });
  }
  assertEquals(end.qp.state, QpState.ERR);
}

/** Connects to a program as soon as it listens, and is its client. It fails if there is nothing to wait for any more. */
export async function beClient(
  bed: CmDevice,
  to: SocketAddress,
  talk: Talk,
  isOver: () => boolean,
): Promise<void> {
  const { id, end, answer: { ud } } = await connectTo(bed, to, talk, isOver);
  await id.establish();
  if (ud === undefined) return await converse({ id, end }, "client", talk);
  using ah = new AddressHandle(bed.pd, ud.ahAttr);
  await send(end, talk, datagram(end.qp, ah, ud));
  await receive(end, talk);
}

/** Listens where the client of a program looks for its server. */
export function listenFor(bed: CmDevice, talk: Talk, hostname: string): CmId {
  const listener = new CmId(bed.channel, talk.portSpace);
  listener.bindAddr({ hostname, port: talk.port ?? 0 });
  listener.listen();
  return listener;
}

/** Accepts a program, and is its server. */
export async function beServer(bed: CmDevice, talk: Talk): Promise<void> {
  const { id, ud } = await bed.request();
  const end = endFor(bed, id, talk);
  await id.accept(end.qp);
  if (ud === undefined) return await converse({ id, end }, "server", talk);
  const { immData: qpNum, ...wc } = await receive(end, talk);
  using path = new ReplyPath(bed.pd, { portNum: id.portNum });
  const qkey = id.initQpAttr(QpState.INIT).qkey!;
  const ah = path.to(wc, end.mr.grhAt(0));
  await send(end, talk, datagram(end.qp, ah, { qpNum, qkey }));
}

const GROUP = { hostname: "239.1.2.4", port: 0 } as const;
const OF_GROUP = { count: 10, size: 100 } as const;

/** mckey does not wait for its sends. Where a device sends later, most are lost: these are enough. */
const SENDS = differs("sendsLater") ? 4000 : OF_GROUP.count;

/** The command of mckey that is in the same group as {@linkcode Member}. */
export function mckey(hostname: string, role: "sender" | "receiver"): Command {
  const more = role === "sender" ? ["-s", "-C", `${SENDS}`] : [];
  return ["mckey", "-m", GROUP.hostname, "-b", hostname, ...more];
}

/** A member of the group of mckey. */
export class Member implements Disposable {
  readonly #bed: CmDevice;
  readonly #id: CmId;
  readonly #end: End;
  readonly #group: UdParam;

  private constructor(bed: CmDevice, id: CmId, end: End, group: UdParam) {
    this.#bed = bed;
    this.#id = id;
    this.#end = end;
    this.#group = group;
  }

  static async join(bed: CmDevice, hostname: string): Promise<Member> {
    const id = new CmId(bed.channel, PortSpace.UDP);
    await id.resolveAddr(GROUP, { srcAddr: { hostname, port: 0 }, timeout: SOON_MS });
    const end = endFor(bed, id, OF_GROUP);
    const group = await id.joinMulticast(GROUP.hostname);
    end.qp.attachMcast(group.ahAttr.grh.dgid);
    return new Member(bed, id, end, group);
  }

  /** Gets what a sender sends. */
  async receive(): Promise<void> {
    await receive(this.#end, OF_GROUP);
  }

  /** Sends again and again, because mckey does not tell a pipe when it has joined. */
  async sendUntil(isOver: () => boolean): Promise<void> {
    using ah = new AddressHandle(this.#bed.pd, this.#group.ahAttr);
    while (!isOver()) {
      await send(this.#end, OF_GROUP, datagram(this.#end.qp, ah, this.#group));
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  [Symbol.dispose](): void {
    this.#end.qp.detachMcast(this.#group.ahAttr.grh.dgid);
    this.#id.close();
  }
}

/** The command of rping that connects, and then waits. */
export function rping(role: "server" | "client", { hostname, port }: SocketAddress): Command {
  return ["rping", role === "server" ? "-s" : "-c", "-a", hostname, "-p", `${port}`];
}

/** A connection to a peer that asks for one. */
export async function accepted(bed: CmDevice): Promise<CmId> {
  const { id } = await bed.request();
  await id.accept(bed.newQp(QpType.RC));
  return id;
}

/** A connection to a program as soon as it listens. */
export async function connected(
  bed: CmDevice,
  to: SocketAddress,
  isOver: () => boolean,
): Promise<CmId> {
  const { id } = await connectTo(bed, to, { count: 0, size: 0 }, isOver);
  await id.establish();
  return id;
}

/** Ends a connection: the peer answers, and the queue pair is in ERR. */
export async function end(id: CmId): Promise<void> {
  assertEquals(await id.disconnect({ timeout: SOON_MS }), true);
  assertEquals(id.qp!.state, QpState.ERR);
}

/** Waits until rping has been told that the connection has ended. It returns after how many milliseconds. */
export async function timeOfEnd(program: Program, role: "server" | "client"): Promise<number> {
  const start = performance.now();
  const { stderr } = await program.ending;
  assertStringIncludes(stderr, `${role} DISCONNECT EVENT`);
  return Math.round(performance.now() - start);
}

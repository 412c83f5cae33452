import { PortSpace } from "@rdma/ibverbs/cm";
import {
  AccessFlags,
  AddressHandle,
  Grh,
  mtuBytes,
  QpState,
  QpType,
  ReplyPath,
  type WorkCompletion,
  WrOpcode,
} from "@rdma/ibverbs";
import { asClient, asServer, CM_OPTIONS, type CmEnd, readWhere } from "./cm/cm_end.ts";
import { type Command, command, CommandError, number } from "./shell/command.ts";

/** Every device has room for this many in a queue pair. */
const MOST = 1000;
const COUNT = 10;
const SIZE = 100;
const LARGEST_MTU = 4096;

/** The datagrams of each side. */
interface Talk {
  readonly count: number;
  readonly size: number;
}

interface Destination {
  readonly ah: AddressHandle;
  readonly remoteQpn: number;
  readonly remoteQkey: number;
}

export const udaddy: Command = command({
  name: "udaddy",
  summary: "Exchanges datagrams with a peer, as udaddy does; works with it.",
  details: `
Without HOST it is a server and waits for a client; with HOST, a name or an address, it connects to
the server there. The peer may be udaddy. The client sends its datagrams, and the server sends as
many when all have arrived. Both need the same number and size. Datagrams can be lost: then the end
that waits for one stops.`,
  operands: "[HOST]",
  options: {
    ...CM_OPTIONS,
    count: number("NUMBER", `datagrams of each side (default ${COUNT})`, [1, MOST], "C"),
    size: number("BYTES", `bytes of a datagram (default ${SIZE})`, [1, LARGEST_MTU], "S"),
  },
  async run(values, terminal, operands): Promise<number> {
    const where = readWhere(values, operands, []);
    const { count = COUNT, size = SIZE } = values;
    const talk = { count, size };
    const needs = {
      ...{ portSpace: PortSpace.UDP, qpType: QpType.UD, access: AccessFlags.LOCAL_WRITE },
      ...{ bytes: Grh.SIZE + size, depth: count },
    } as const;
    if (where.host === undefined) {
      await asServer(where, needs, async (end) => await serve(end, talk));
    } else await asClient(where, needs, async (end) => await ask(end, talk));
    const role = where.host === undefined ? "server" : "client";
    if (values.json) terminal.printJson({ role, ...talk });
    else terminal.print([`${count} datagrams of ${size} bytes there, and as many back`]);
    return 0;
  },
});

/** Receives the datagrams of a client, and sends as many back. */
async function serve(end: CmEnd, talk: Talk): Promise<void> {
  const { id, qp, pd, mr, signal } = end;
  expectAll(end, talk);
  await id.accept(qp, {}, { signal });
  const { immData, ...from } = await receiveAll(end, talk);
  using path = new ReplyPath(pd, { portNum: id.portNum });
  const ah = await path.toAsync(from, { grh: mr.grhAt(0), signal });
  // Each datagram of the peer has its number.
  const remoteQpn = immData ?? from.srcQp;
  const remoteQkey = id.initQpAttr(QpState.INIT).qkey!;
  await sendAll(end, talk, { ah, remoteQpn, remoteQkey });
}

/** Sends datagrams to a server, and receives as many. */
async function ask(end: CmEnd, talk: Talk): Promise<void> {
  const { id, qp, pd, signal } = end;
  expectAll(end, talk);
  const { ud } = await id.connect(qp, {}, { signal });
  const { ahAttr, qpNum: remoteQpn, qkey: remoteQkey } = ud!;
  using ah = await AddressHandle.createAsync(pd, ahAttr, { signal });
  await sendAll(end, talk, { ah, remoteQpn, remoteQkey });
  await receiveAll(end, talk);
}

/** Posts all receives: the peer sends without a pause. They share their memory. */
function expectAll({ id, qp, mr }: CmEnd, { count, size }: Talk): void {
  const mtu = mtuBytes(qp.context.queryPort(id.portNum).activeMtu);
  if (size > mtu) throw new CommandError(`a datagram has at most ${mtu} bytes here, not ${size}`);
  for (let i = 0; i < count; i++) qp.postRecv({ sge: mr.sge() });
}

/** Waits for all datagrams. It returns the completion of the last one, whose bytes are in the memory. */
async function receiveAll(end: CmEnd, { count, size }: Talk): Promise<WorkCompletion> {
  let last: WorkCompletion | undefined;
  for (let i = 0; i < count; i++) {
    last = await end.received();
    if (last === undefined) throw new CommandError("the queue pair has stopped");
    const bytes = last.byteLen - Grh.SIZE;
    if (bytes !== size) throw new CommandError(`the peer sent ${bytes} bytes, not ${size}`);
  }
  return last!;
}

async function sendAll(end: CmEnd, { count }: Talk, to: Destination): Promise<void> {
  const { qp, mr } = end;
  const datagram = { opcode: WrOpcode.SEND_WITH_IMM, immData: qp.qpNum } as const;
  const sge = mr.sge(Grh.SIZE);
  for (let i = 0; i < count; i++) qp.postSend({ ...datagram, ...to, sge });
  await end.sent(count);
}

import { assertEquals } from "@std/assert";
import {
  AccessFlags,
  AddressHandle,
  CompletionQueue,
  Grh,
  MemoryRegion,
  QpType,
  QueuePair,
  ReplyPath,
} from "../../../../mod.ts";
import { PORT, QKEY, selfAddress, udPair, until, waitFor } from "../../setup.ts";

interface Server {
  readonly qp: QueuePair;
  readonly recvCq: CompletionQueue;
  readonly sendCq: CompletionQueue;
  readonly mr: MemoryRegion;
  readonly path: ReplyPath;
}

/** The functions of the snippet. */
export interface Snippet {
  makeServe(server: Server): () => void;
}

const SLOT = Grh.SIZE + 1024;
const SLOTS = 4;

/** Lets two clients send more messages than there are slots. */
export default async function call({ makeServe }: Snippet): Promise<void> {
  using pair = udPair();
  const { context, pd } = pair;
  const recvCq = new CompletionQueue(context, { cqe: SLOTS });
  const sendCq = new CompletionQueue(context, { cqe: SLOTS });
  const cap = { maxSendWr: SLOTS, maxRecvWr: SLOTS };
  const qp = new QueuePair(pd, { type: QpType.UD, sendCq, recvCq, cap });
  qp.activateUd({ port: PORT, qkey: QKEY });
  const mr = new MemoryRegion(pd, SLOTS * SLOT, AccessFlags.LOCAL_WRITE);
  for (let i = 0; i < SLOTS; i++) qp.postRecv({ wrId: i * SLOT, sge: mr.slice(i * SLOT, SLOT) });
  const path = new ReplyPath(pd, { port: PORT, maxPeers: 64 });
  const serve = makeServe({ qp, recvCq, sendCq, mr, path });
  using ah = new AddressHandle(pd, selfAddress(context));
  for (let i = 0; i < 2 * SLOTS; i++) {
    const client = i % 2 === 0 ? pair.left : pair.right;
    client.qp.postRecv({ sge: client.mr.slice(0, SLOT) });
    const sge = client.mr.slice(2 * SLOT, 8);
    sge.bytes.fill(i + 1);
    client.qp.postSend({ sge, ah, remoteQpn: qp.qpNum, remoteQkey: QKEY });
    await waitFor(client.cq);
    await until("the reply has come", () => (serve(), client.mr.bytes(Grh.SIZE, 1)[0] === i + 1));
    const [reply] = await waitFor(client.cq);
    assertEquals([reply!.check().srcQp, reply!.byteLen], [qp.qpNum, Grh.SIZE + 8]);
  }
}

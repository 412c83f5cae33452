// A peer process that is killed in the middle of RC traffic: what the survivor sees, and what is left.
import { assertEquals, assertGreater } from "@std/assert";
import {
  nameOf,
  ProtectionDomain,
  type QpAddress,
  QpState,
  QpType,
  WcStatus,
  WrOpcode,
} from "../../../mod.ts";
import { PeerProcess } from "../peer_process.ts";
import { deviceTest, type End, gidOf, makeEnd, openRxe, PORT, RXE } from "../setup.ts";
import { ACCESS, DEPTH, LENGTH, PATIENT } from "./killed.ts";

const PEER = new URL("killed_peer.ts", import.meta.url).pathname;
/** The peer is killed after that many completions. */
const SEEN = 100;
/** Only reached by what hangs. */
const PATIENCE_MS = 120_000;

interface Remote {
  readonly address: QpAddress;
  readonly addr: string;
  readonly rkey: number;
}

/** What the survivor does with each action of the peer. */
const TRAFFIC: Readonly<Record<string, { peer: string; post: (end: End, to: Remote) => void }>> = {
  "sends": {
    peer: "receive",
    post: ({ qp, mr }) => qp.postSend({ sge: mr.slice(0, LENGTH) }),
  },
  "reads memory": {
    peer: "receive",
    post: ({ qp, mr }, { addr, rkey }) => {
      const sge = mr.slice(0, LENGTH);
      qp.postSend({ opcode: WrOpcode.RDMA_READ, sge, remoteAddr: BigInt(addr), rkey });
    },
  },
  "receives": {
    peer: "send",
    post: ({ qp, mr }) => qp.postRecv({ sge: mr.slice(0, LENGTH) }),
  },
};

/** Keeps requests under way until one fails, kills the peer meanwhile, and returns how the rest ended. */
async function outlive(
  peer: PeerProcess,
  end: End,
  post: () => void,
  sends: boolean,
): Promise<string[]> {
  const { qp, cq, mr } = end;
  const failed: string[] = [];
  let seen = 0;
  let outstanding = DEPTH;
  for await (const wc of cq.completions({ signal: AbortSignal.timeout(PATIENCE_MS) })) {
    outstanding--;
    if (wc.status !== WcStatus.SUCCESS) failed.push(nameOf(WcStatus, wc.status));
    else seen++;
    if (seen === SEEN && failed.length === 0) {
      await peer.kill();
      // Who only receives does not notice that nobody sends any more.
      if (!sends) {
        qp.postSend({ sge: mr.slice(0, 8) });
        outstanding++;
      }
    }
    if (failed.length === 0) {
      post();
      outstanding++;
    }
    if (outstanding === 0) break;
  }
  return failed;
}

for (const [what, { peer: action, post }] of Object.entries(TRAFFIC)) {
  deviceTest(`QueuePair that ${what} gets an error when its peer is killed`, async () => {
    using context = openRxe();
    using pd = new ProtectionDomain(context);
    const end = makeEnd(pd, QpType.RC);
    const { gidIndex } = gidOf(context, "ipv4");
    await using peer = new PeerProcess(PEER, RXE, String(gidIndex), action);
    const remote = await peer.hear() as Remote;
    end.qp.init({ port: PORT, gidIndex, qpAccessFlags: ACCESS });
    end.qp.activateRc(remote.address, PATIENT);
    const next = (): void => post(end, remote);
    if (action === "send") { for (let i = 0; i < DEPTH; i++) next(); }
    await peer.tell(end.qp.address);
    assertEquals(await peer.hear(), "ready");
    if (action !== "send") { for (let i = 0; i < DEPTH; i++) next(); }
    const [first, ...others] = await outlive(peer, end, next, action !== "send");
    assertEquals(first, "RETRY_EXC_ERR");
    assertGreater(others.length, 0);
    assertEquals([...new Set(others)], ["WR_FLUSH_ERR"]);
    assertEquals(end.qp.query().attr.qpState, QpState.ERR);
    assertEquals(end.cq.poll(), []);
  });
}

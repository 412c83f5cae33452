// What a writer sees when the memory of its peer is gone: closed, or with the program that had it.
import { assertEquals, assertStringIncludes } from "@std/assert";
import { nameOf, QpType, WcStatus, type WorkCompletionError, WrOpcode } from "../../../mod.ts";
import { startDeno } from "../programs.ts";
import {
  connectedPair,
  deviceTest,
  type End,
  gidOf,
  makeEnd,
  PORT,
  REMOTE_ACCESS,
  RXE,
  rxe,
  waitFor,
} from "../setup.ts";

const HINTS: Readonly<Record<string, string>> = {
  REM_ACCESS_ERR: "is closed, or its program has ended",
  RETRY_EXC_ERR: "its program may have ended",
};

interface Remote {
  readonly remoteAddr: bigint;
  readonly rkey: number;
}

/** Writes to the peer until it fails. The result is the status. */
async function writeUntilFailure({ qp, cq, mr }: End, remote: Remote): Promise<string> {
  const sge = mr.sge(0, 8);
  for (;;) {
    qp.postSend({ opcode: WrOpcode.RDMA_WRITE, sge, ...remote });
    const [wc] = await waitFor(cq);
    if (wc!.ok) continue;
    const status = nameOf(WcStatus, wc!.status);
    const { hint = "" } = errorOf(() => wc!.check());
    assertStringIncludes(hint, HINTS[status] ?? "");
    return status;
  }
}

function errorOf(call: () => unknown): WorkCompletionError {
  try {
    call();
  } catch (error) {
    return error as WorkCompletionError;
  }
  throw new Error("nothing is thrown");
}

deviceTest("A write to memory that the peer has closed fails with that cause", async () => {
  using pair = connectedPair();
  const { addr, rkey } = pair.right.mr;
  pair.right.mr.close();
  assertEquals(
    await writeUntilFailure(pair.left, { remoteAddr: addr, rkey }),
    "REM_ACCESS_ERR",
  );
});

deviceTest("A write to a peer whose program has ended fails with that cause", async () => {
  using fixture = rxe();
  const end = makeEnd(fixture.pd, QpType.RC);
  const { gidIndex } = gidOf(fixture.context, "ipv4");
  end.qp.init({ portNum: PORT, gidIndex, qpAccessFlags: REMOTE_ACCESS });
  const program = new URL("writable_peer.ts", import.meta.url).pathname;
  await using peer = startDeno(program, [RXE, String(gidIndex)]);
  const { address, remoteAddr, rkey } = await peer.hear() as Told;
  end.qp.activateRc(address, { timeout: 10, retryCnt: 1 });
  await peer.tell(end.qp.address);
  await peer.endInput();
  assertEquals(await peer.hear(), "ready");
  const failure = writeUntilFailure(end, { remoteAddr: BigInt(remoteAddr), rkey });
  await peer.kill();
  // Which one it is depends on what the kernel ends first: the memory, or the queue pair.
  assertEquals(Object.keys(HINTS).includes(await failure), true);
});

interface Told {
  readonly address: Parameters<End["qp"]["activateRc"]>[0];
  readonly remoteAddr: string;
  readonly rkey: number;
}

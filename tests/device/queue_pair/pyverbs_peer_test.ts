// RDMA writes, reads, atomics and messages between this module and pyverbs, in both directions.
import { assertEquals } from "@std/assert";
import {
  Gid,
  type MemoryRegion,
  ProtectionDomain,
  QpType,
  type SendRequest,
  WrOpcode,
} from "../../../mod.ts";
import { start } from "../programs.ts";
import {
  connect,
  deviceTest,
  type End,
  gidOf,
  makeEnd,
  openRxe,
  PORT,
  RXE,
  waitFor,
} from "../setup.ts";

/** What each side tells the other. `gid` is eight groups of four digits, as pyverbs prints it. */
interface Address {
  readonly qpn: number;
  readonly gid: string;
  readonly addr: string;
  readonly rkey: number;
}

const SCRIPT = new URL("../../python/rc_peer.py", import.meta.url).pathname;
const { RDMA_WRITE, RDMA_READ, ATOMIC_FETCH_AND_ADD, ATOMIC_CMP_AND_SWP } = WrOpcode;

deviceTest("An RC queue pair and a peer made with pyverbs use each other's memory", async () => {
  using context = openRxe();
  const { gid, gidIndex } = gidOf(context, "ipv4");
  await using peer = start("/usr/bin/python3", SCRIPT, RXE, String(gidIndex));
  using pd = new ProtectionDomain(context);
  const end = makeEnd(pd, QpType.RC);
  const remote = await peer.hear() as Address;
  const { qp, mr } = end;
  connect(qp, remote.qpn, {
    portNum: PORT,
    grh: { dgid: Gid.parse(remote.gid), sgidIndex: gidIndex, hopLimit: 64 },
  });
  await peer.tell({ qpn: qp.qpNum, gid: groups(gid), addr: String(mr.addr), rkey: mr.rkey });
  put(mr, 256, "deno".padEnd(16));
  mr.bytes(512, 8)[0] = 40;
  qp.postRecv({ sge: mr.slice(2048, 64) });
  assertEquals(await peer.hear(), "ready");

  const fetched = await useMemoryOf(remote, end);
  assertEquals(fetched, { read: "python".padEnd(16), fetched: 40n, swapped: 45n });
  await peer.tell("done");
  assertEquals(await peer.hear(), {
    written: "from deno".padEnd(16),
    counter: 77,
    message: "from deno",
  });

  await peer.tell("your turn");
  const received = await waitFor(end.cq, 1);
  assertEquals(await peer.hear(), { read: "deno".padEnd(16), fetched: 40, swapped: 45 });
  assertEquals(text(mr, 2048, received[0]!.check().byteLen), "from python");
  assertEquals(text(mr, 0, 16), "from python".padEnd(16));
  assertEquals(u64(mr, 512), 77n);
  await peer.tell("bye");
  const { code, stderr } = await peer.ending;
  assertEquals([code, stderr], [0, ""]);
});

async function useMemoryOf(
  remote: Address,
  { qp, cq, mr }: End,
): Promise<{ read: string; fetched: bigint; swapped: bigint }> {
  const at = (offset: number) => ({
    remoteAddr: BigInt(remote.addr) + BigInt(offset),
    rkey: remote.rkey,
  });
  const run = async (request: SendRequest) => {
    qp.postSend(request);
    (await waitFor(cq))[0]!.check();
  };
  put(mr, 1024, "from deno".padEnd(16));
  await run({ opcode: RDMA_WRITE, sge: mr.slice(1024, 16), ...at(0) });
  await run({ opcode: RDMA_READ, sge: mr.slice(1040, 16), ...at(256) });
  await run({ opcode: ATOMIC_FETCH_AND_ADD, sge: mr.slice(1056, 8), ...at(512), compareAdd: 5n });
  const swap = { compareAdd: 45n, swap: 77n };
  await run({ opcode: ATOMIC_CMP_AND_SWP, sge: mr.slice(1064, 8), ...at(512), ...swap });
  await run({ sge: mr.slice(1024, 9) });
  return { read: text(mr, 1040, 16), fetched: u64(mr, 1056), swapped: u64(mr, 1064) };
}

function groups(gid: Gid): string {
  return gid.bytes.toHex().match(/.{4}/g)!.join(":");
}

function put(mr: MemoryRegion, offset: number, content: string): void {
  mr.bytes(offset, content.length).set(new TextEncoder().encode(content));
}

function text(mr: MemoryRegion, offset: number, length: number): string {
  return new TextDecoder().decode(mr.bytes(offset, length));
}

function u64(mr: MemoryRegion, offset: number): bigint {
  const bytes = mr.bytes(offset, 8);
  return new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0, true);
}

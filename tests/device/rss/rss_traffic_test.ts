// Packets through the stub HCA: each reaches the work queue that was predicted for it.
import { assert, assertEquals } from "@std/assert";
import {
  AccessFlags,
  MemoryRegion,
  QpState,
  QpType,
  QueuePair,
  RwqIndirectionTable,
  RxHash,
  RxHashFields,
  WcOpcode,
  WcStatus,
  type WorkCompletion,
  type WorkQueue,
} from "../../../mod.ts";
import type { RssFlow } from "../../../rss.ts";
import { frameOf } from "../frames.ts";
import { waitFor } from "../setup.ts";
import { Random } from "../../random.ts";
import {
  assertFails,
  type Bench,
  calls,
  deliver,
  ETHERNET_PORT,
  forget,
  hashOverAll,
  makeRss,
  openBench,
  startAll,
  stubTest,
} from "../stub.ts";

const ROOM = 256;

/** A work queue with a buffer of 256 bytes for each of its receives, which their `wrId` numbers. */
interface Receiver {
  readonly wq: WorkQueue;
  readonly mr: MemoryRegion;
}

function startReceivers({ pd, workQueues }: Bench): Map<number, Receiver> {
  startAll(workQueues);
  return new Map(workQueues.map((wq) => {
    const mr = new MemoryRegion(pd, wq.maxWr * ROOM, AccessFlags.LOCAL_WRITE);
    wq.postRecv(Array.from({ length: wq.maxWr }, (_, i) => ({
      wrId: BigInt(i),
      sge: mr.sge(i * ROOM, ROOM),
    })));
    return [wq.wqNum, { wq, mr }];
  }));
}

/** The bytes that a completed receive brought. */
function received(receivers: ReadonlyMap<number, Receiver>, wc: WorkCompletion): Uint8Array {
  const { mr } = receivers.get(wc.qpNum)!;
  return mr.sge(Number(wc.wrId) * ROOM, wc.check().byteLen).bytes;
}

function manyFlows(count: number): RssFlow[] {
  const random = new Random(12_345);
  const next = (): number => random.below(65_536);
  const byte = (): number => random.below(256);
  return Array.from({ length: count }, (_, i) => {
    const ipv4 = (): string => `10.${byte()}.${byte()}.${byte()}`;
    const ipv6 = (): string => `fd00::${next().toString(16)}:${next().toString(16)}`;
    const address = i % 2 === 0 ? ipv4 : ipv6;
    return {
      srcIp: address(),
      dstIp: address(),
      protocol: (["tcp", "udp", undefined] as const)[i % 3],
      srcPort: next(),
      dstPort: next(),
    };
  });
}

stubTest("Packets reach the work queue that workQueueFor() predicts, whole", async () => {
  using bench = openBench(8);
  const receivers = startReceivers(bench);
  const rxHash = hashOverAll();
  const qp = makeRss(bench, rxHash);
  const cq = bench.workQueues[0]!.cq;
  const reached = new Set<WorkQueue>();
  for (const flow of manyFlows(192)) {
    const predicted = qp.rwqIndTbl!.workQueueFor(flow, rxHash);
    const frame = frameOf(flow, crypto.getRandomValues(new Uint8Array(50)));
    deliver(qp, [frame]);
    const [wc] = await waitFor(cq);
    assertEquals(wc!.qpNum, predicted.wqNum, JSON.stringify(flow));
    assertEquals([wc!.status, wc!.opcode], [WcStatus.SUCCESS, WcOpcode.RECV]);
    assertEquals(received(receivers, wc!), frame);
    reached.add(predicted);
  }
  assertEquals(reached.size, 8);
});

/** Fields that select the same of either family, and any of the ports. */
function evenMasks(): number[] {
  const { SRC_IPV4, DST_IPV4, SRC_IPV6, DST_IPV6 } = RxHashFields;
  const addresses = [0, SRC_IPV4 | SRC_IPV6, DST_IPV4 | DST_IPV6];
  const all = addresses.concat(addresses[1]! | addresses[2]!);
  return all.flatMap((fields) => Array.from({ length: 16 }, (_, ports) => fields | ports << 4));
}

stubTest("RxHash.hash() is the hash that packets have, for every selection of fields", () => {
  using bench = openBench(4);
  const flows = manyFlows(6);
  const rwqIndTbl = new RwqIndirectionTable(bench.context, bench.workQueues);
  const key = crypto.getRandomValues(new Uint8Array(40));
  for (const rxHashFieldsMask of evenMasks()) {
    const rxHashConf = new RxHash({ rxHashKey: key, rxHashFieldsMask });
    using qp = new QueuePair(bench.pd, { qpType: QpType.RAW_PACKET, rwqIndTbl, rxHashConf });
    forget();
    deliver(qp, flows.map((flow) => frameOf(flow)));
    const hashes = flows.map((flow) => rxHashConf.hash(flow));
    const mask = `fields ${rxHashFieldsMask}, key ${key.toHex()}`;
    assertEquals(calls("packet").map((call) => call.hash), hashes, mask);
    assertEquals(calls("packet").map((call) => call.index), hashes.map((hash) => hash & 3), mask);
  }
});

stubTest("Raw packet queue pairs without a table receive by themselves", async () => {
  using bench = openBench(1);
  const qp = bench.newQp(QpType.RAW_PACKET, { createFlags: 0 });
  const mr = bench.newMr();
  const frame = frameOf(manyFlows(1)[0]!);
  qp.modify({ qpState: QpState.INIT, portNum: ETHERNET_PORT });
  qp.postRecv({ wrId: 5n, sge: mr.sge(0, ROOM) });
  qp.modify({ qpState: QpState.RTR });
  deliver(qp, [frame]);
  const [wc] = await waitFor(bench.cq);
  assertEquals([wc!.wrId, wc!.qpNum], [5n, qp.qpNum]);
  assertEquals(mr.sge(0, frame.length).bytes, frame);
  assert(qp.rwqIndTbl === undefined);
});

stubTest("An RSS queue pair goes to RTR on its port and no further", () => {
  using bench = openBench();
  const qp = makeRss(bench, hashOverAll());
  assertEquals(qp.state, QpState.RTR);
  assertEquals(calls("modify_qp").map((call) => call.port_num), [ETHERNET_PORT, 0]);
  assertFails(() => qp.modify({ qpState: QpState.RTS }), "ibv_modify_qp", "EOPNOTSUPP");
});

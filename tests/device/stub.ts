/**
 * Helpers for tests on the stub HCA. They write and read its files under debugfs: the record of calls, failures, counts,
 * packets, events. See rxe/stub_hca/README.md. Importing this file throws if the stub is not loaded.
 */

import { assertEquals, assertThrows } from "@std/assert";
import {
  microsoftRssKey,
  QpState,
  QpType,
  QueuePair,
  RwqIndirectionTable,
  RxHash,
  RxHashFields,
  VerbsError,
  WorkQueue,
  type WqInitAttr,
  WqState,
} from "../../mod.ts";
import { OpenDevice } from "./open_device.ts";
import { deviceTest } from "./setup.ts";

/** The name of the stub's device. */
export const STUB = "stub0";
/** The stub's InfiniBand port. */
export const IB_PORT = 1;
/** The LID of the InfiniBand port. */
export const IB_LID = 0x12;
/** The stub's Ethernet port. */
export const ETHERNET_PORT = 2;
/** Bits of all IPv4 and IPv6 addresses and TCP and UDP ports. */
const ALL_FIELDS = 0xff;

const FILES = "/sys/kernel/debug/stub_hca";

try {
  Deno.statSync(FILES);
} catch (cause) {
  throw new Error(
    'Cannot run tests on the stub HCA: it is not loaded. "deno task test" loads it',
    { cause },
  );
}

/** Writes a line to one of the stub's files. */
export function writeStub(file: string, line: string): void {
  Deno.writeTextFileSync(`${FILES}/${file}`, `${line}\n`);
}

/** A call that reached the stub. */
export interface Call {
  readonly verb: string;
  /** 0 or a negative errno. */
  readonly ret: number;
  readonly [attribute: string]: unknown;
}

/** The calls that reached the stub since the test began, or since {@linkcode forget}: of one verb, or of all. */
export function calls(verb?: string): Call[] {
  const lines = Deno.readTextFileSync(`${FILES}/record`).split("\n").filter((line) => line !== "");
  const all = lines.map((line) => JSON.parse(line) as Call);
  return verb === undefined ? all : all.filter((call) => call.verb === verb);
}

/** The last call of a verb. */
export function lastCall(verb: string): Call | undefined {
  return calls(verb).at(-1);
}

/** Asserts attributes of the last call of a verb. */
export function assertLastCall(verb: string, expected: Readonly<Record<string, unknown>>): void {
  const call = lastCall(verb);
  const found = Object.keys(expected).map((name) => [name, call?.[name]]);
  assertEquals(Object.fromEntries(found), expected);
}

/**
 * The stub's number of the object that was made last. Completion queues and shared receive queues do not tell their
 * number to their owner.
 */
export function newest(kind: "cq" | "srq" | "qp" | "wq" | "table" | "flow" | "xrcd"): number {
  const verbs = { table: "create_rwq_ind_table", xrcd: "open_xrcd" } as Record<string, string>;
  const made = calls(verbs[kind] ?? `create_${kind}`).filter((call) => call.ret === 0).at(-1);
  if (made === undefined) throw new Error(`Cannot find the newest ${kind}: none was made`);
  return made[kind] as number;
}

/** Clears the record. */
export function forget(): void {
  writeStub("record", "clear");
}

/**
 * Makes the next calls of a verb fail.
 *
 * @param verb One of the verbs that rxe/stub_hca/README.md lists under "fail".
 * @param count How many calls fail.
 * @param after How many calls succeed before.
 */
export function failNext(verb: string, errno: string, count = 1, after = 0): void {
  writeStub("fail", `${verb} ${errno} ${count} ${after}`);
}

/** Kinds of objects that the stub counts. */
const KINDS = [
  "contexts",
  "pds",
  "ahs",
  "mrs",
  "mws",
  "cqs",
  "srqs",
  "xrcds",
  "qps",
  "wqs",
  "tables",
  "flows",
  "mcasts",
  "pinned_pages",
] as const;

/** The number of objects that exist in the stub, by kind. */
export function alive(): Record<typeof KINDS[number], number> {
  const stats = JSON.parse(Deno.readTextFileSync(`${FILES}/stats`));
  return Object.fromEntries(KINDS.map((kind) => [kind, stats[kind]])) as ReturnType<typeof alive>;
}

/** Delivers frames to a raw packet queue pair. */
export function deliver(qp: QueuePair, frames: readonly Uint8Array[]): void {
  // one by one, because one write holds whole lines and is of limited length
  for (const frame of frames) writeStub("packet", `${qp.qpNum} ${frame.toHex()}`);
}

/** A datagram without a GRH, as from another port of the fabric. */
export interface Datagram {
  readonly slid: number;
  readonly srcQp: number;
  readonly sl: number;
  readonly pathBits: number;
  readonly data: Uint8Array;
}

/** Delivers a datagram to a UD queue pair, into its own receives or those of its shared receive queue. */
export function deliverDatagram(qp: QueuePair, datagram: Datagram): void {
  const { slid, srcQp, sl, pathBits, data } = datagram;
  writeStub("datagram", `${qp.qpNum} ${slid} ${srcQp} ${sl} ${pathBits} ${data.toHex()}`);
}

/** Delivers a message that an XRC target queue pair receives for a shared receive queue of its XRC domain. */
export function deliverXrc(qpNum: number, srqNum: number, data: Uint8Array): void {
  writeStub("xrc", `${qpNum} ${srqNum} ${data.toHex()}`);
}

/**
 * Registers a test on the stub. The test fails if the kernel or the stub holds other objects after it than before. After
 * the test no verb is armed to fail, and ports and clock have their first values.
 */
export function stubTest(name: string, body: () => void | Promise<void>): void {
  deviceTest(name, async () => {
    forget();
    const before = alive();
    try {
      await body();
    } finally {
      writeStub("fail", "clear");
      writeStub("event", "reset");
      writeStub("clock", "0");
    }
    assertEquals(alive(), before, "the test left objects behind in the stub");
  });
}

/** The stub, open. */
export function openStub(): OpenDevice {
  return new OpenDevice(STUB);
}

/** The stub, open, with work queues of 64 receives with one element each. */
export class Bench extends OpenDevice {
  /** In state RESET, with consecutive numbers, on a completion queue of 1023 entries. */
  readonly workQueues: readonly WorkQueue[];

  constructor(count: number) {
    super(STUB);
    const cq = this.newCq(1023);
    this.workQueues = Array.from({ length: count }, () => this.newWq(cq));
  }

  /** Another work queue. */
  newWq(cq = this.cq, init: Partial<WqInitAttr> = {}): WorkQueue {
    return new WorkQueue(this.pd, { maxWr: 64, maxSge: 1, cq, ...init });
  }

  /** A table of all work queues. */
  newTable(workQueues = this.workQueues): RwqIndirectionTable {
    return new RwqIndirectionTable(this.context, workQueues);
  }
}

/** Opens the stub and makes work queues. */
export function openBench(count = 4): Bench {
  return new Bench(count);
}

/** Makes the stub's work queues ready to receive. */
export function startAll(workQueues: readonly WorkQueue[]): void {
  for (const wq of workQueues) wq.modify({ wqState: WqState.RDY });
}

/** A hash over all addresses and ports, by Microsoft's key. */
export function hashOverAll(): RxHash {
  return new RxHash({ rxHashKey: microsoftRssKey(), rxHashFieldsMask: ALL_FIELDS });
}

/** A hash over IPv4 addresses, by Microsoft's key. */
export function hashOverIpv4(): RxHash {
  const { SRC_IPV4, DST_IPV4 } = RxHashFields;
  return new RxHash({ rxHashKey: microsoftRssKey(), rxHashFieldsMask: SRC_IPV4 | DST_IPV4 });
}

/** An RSS queue pair over work queues, ready to receive. */
export function makeRss(bench: Bench, rxHashConf: RxHash, queues = bench.workQueues): QueuePair {
  const init = { qpType: QpType.RAW_PACKET, rwqIndTbl: bench.newTable(queues), rxHashConf };
  const qp = new QueuePair(bench.pd, init);
  qp.modify({ qpState: QpState.INIT, portNum: ETHERNET_PORT });
  qp.modify({ qpState: QpState.RTR });
  return qp;
}

/** Asserts that a verb fails, and how; gives the error. */
export function assertFails(body: () => unknown, verb: string, code: string): VerbsError {
  const error = assertThrows(body, VerbsError);
  assertEquals([error.verb, error.code], [verb, code], error.message);
  return error;
}

/**
 * What the tests on the stub HCA share: its files under debugfs, which tell what reached it, feed it packets and make it
 * fail. See tests/stub_hca/README.md. Importing this throws where the stub is not there.
 */

import { assertEquals, assertThrows } from "@std/assert";
import {
  CompletionQueue,
  Context,
  microsoftRssKey,
  ProtectionDomain,
  QpState,
  QpType,
  QueuePair,
  RwqIndirectionTable,
  RxHash,
  RxHashFields,
  VerbsError,
  WorkQueue,
  WqState,
} from "../../mod.ts";
import { deviceTest } from "./setup.ts";

/** The name of the stub's device. */
export const STUB = "stub0";
/** Its InfiniBand port. */
export const IB_PORT = 1;
/** That port's LID. */
export const IB_LID = 0x12;
/** Its Ethernet port. */
export const ETHERNET_PORT = 2;
/** Bits of all IPv4 and IPv6 addresses and TCP and UDP ports. */
export const ALL_FIELDS = 0xff;

const FILES = "/sys/kernel/debug/stub_hca";

try {
  Deno.statSync(FILES);
} catch (cause) {
  throw new Error(
    'Cannot run tests of work queues: the stub HCA is not there. "deno task test" loads it',
    { cause },
  );
}

/** A call that reached the stub. */
export interface Call {
  readonly verb: string;
  /** 0 or a negative errno. */
  readonly ret: number;
  readonly [attribute: string]: unknown;
}

/** What reached the stub since the test began, or since {@linkcode forget}; of one verb, or all. */
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

/** Clears the record. */
export function forget(): void {
  Deno.writeTextFileSync(`${FILES}/record`, "\n");
}

/** Makes the next calls of a verb fail. */
export function failNext(verb: string, errno: string, count = 1): void {
  Deno.writeTextFileSync(`${FILES}/fail`, `${verb} ${errno} ${count}\n`);
}

/** What the stub counts of its objects. */
const KINDS = ["contexts", "pds", "mrs", "cqs", "qps", "wqs", "tables", "pinned_pages"] as const;

/** How many objects are alive in the stub, by kind. */
export function alive(): Record<typeof KINDS[number], number> {
  const stats = JSON.parse(Deno.readTextFileSync(`${FILES}/stats`));
  return Object.fromEntries(KINDS.map((kind) => [kind, stats[kind]])) as ReturnType<typeof alive>;
}

/** Has frames arrive for a queue pair. */
export function deliver(qp: QueuePair, frames: readonly Uint8Array[]): void {
  const lines = frames.map((frame) => `${qp.qpNum} ${frame.toHex()}\n`);
  // one by one, because one write holds whole lines and is of limited length
  for (const line of lines) Deno.writeTextFileSync(`${FILES}/packet`, line);
}

/** A datagram without a GRH, as from another port of the fabric. */
export interface Datagram {
  readonly slid: number;
  readonly srcQp: number;
  readonly sl: number;
  readonly pathBits: number;
  readonly data: Uint8Array;
}

/** Has a datagram arrive for a UD queue pair. */
export function deliverDatagram(qp: QueuePair, datagram: Datagram): void {
  const { slid, srcQp, sl, pathBits, data } = datagram;
  const line = `${qp.qpNum} ${slid} ${srcQp} ${sl} ${pathBits} ${data.toHex()}\n`;
  Deno.writeTextFileSync(`${FILES}/datagram`, line);
}

/** Registers a test that fails when the kernel or the stub holds other objects after it than before. */
export function stubTest(name: string, body: () => void | Promise<void>): void {
  deviceTest(name, async () => {
    forget();
    const before = alive();
    try {
      await body();
    } finally {
      Deno.writeTextFileSync(`${FILES}/fail`, "clear\n");
    }
    assertEquals(alive(), before, "the test left objects behind in the stub");
  });
}

/** An open stub with work queues; disposing it closes the device. */
export interface Bench extends Disposable {
  readonly context: Context;
  readonly pd: ProtectionDomain;
  /** In state RESET, with consecutive numbers, on a completion queue of 1023 entries. */
  readonly workQueues: readonly WorkQueue[];
}

/** Opens the stub and makes work queues of 64 receives with one element each. */
export function openBench(count = 4): Bench {
  const context = Context.open(STUB);
  const pd = new ProtectionDomain(context);
  const cq = new CompletionQueue(context, { cqe: 1023 });
  const workQueues = Array.from(
    { length: count },
    () => new WorkQueue(pd, { maxWr: 64, maxSge: 1, cq }),
  );
  return { context, pd, workQueues, [Symbol.dispose]: () => context.close() };
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

/** An RSS queue pair over all work queues, ready to receive. */
export function makeRss({ context, pd, workQueues }: Bench, rxHashConf: RxHash): QueuePair {
  const rwqIndTbl = new RwqIndirectionTable(context, workQueues);
  const qp = new QueuePair(pd, { type: QpType.RAW_PACKET, rwqIndTbl, rxHashConf });
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

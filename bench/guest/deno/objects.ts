/** Objects that are made and destroyed, and whether any stays behind. See ../c/objects.h. */

import {
  AccessFlags,
  AddressHandle,
  CompletionQueue,
  type Context,
  MemoryRegion,
  ProtectionDomain,
  QpType,
  QueuePair,
} from "../../../mod.ts";
import type { Sample } from "../../measurement.ts";
import { middlePart, type Plan } from "../../deno/clock.ts";
import { PORT } from "./queues.ts";

const KILOBYTE = 1024;
const MEGABYTE = 1024 * KILOBYTE;
const DEPTH = 64;

type Maker = () => Disposable;

let domain: ProtectionDomain | undefined;
/** Memory to register, with pages that the kernel has found already. */
let source: Uint8Array<ArrayBuffer> | undefined;

function memory(size: number): Uint8Array<ArrayBuffer> {
  source ??= new Uint8Array(256 * MEGABYTE);
  const part = source.subarray(0, size);
  for (let i = 0; i < size; i += 4096) part[i] = 1;
  return part;
}

function ofMemory(size: number): (pd: ProtectionDomain) => Maker {
  return (pd) => {
    const part = memory(size);
    return () => new MemoryRegion(pd, part, AccessFlags.LOCAL_WRITE);
  };
}

const KINDS: Readonly<Record<string, (pd: ProtectionDomain) => Maker>> = {
  ah: (pd) => {
    const grh = { dgid: pd.context.queryGid(PORT, 0), sgidIndex: 0, hopLimit: 64 };
    return () => new AddressHandle(pd, { portNum: PORT, grh });
  },
  mr_4k: ofMemory(4 * KILOBYTE),
  mr_1m: ofMemory(MEGABYTE),
  mr_16m: ofMemory(16 * MEGABYTE),
  mr_256m: ofMemory(256 * MEGABYTE),
  cq: ({ context }) => () => new CompletionQueue(context, { cqe: DEPTH, channel: null }),
  qp: (pd) => {
    const cq = new CompletionQueue(pd.context, { cqe: 2 * DEPTH, channel: null });
    const cap = { maxSendWr: DEPTH, maxRecvWr: DEPTH };
    return () => new QueuePair(pd, { type: QpType.UD, sendCq: cq, recvCq: cq, cap });
  },
};

const makers = new Map<string, Maker>();

function makerOf(context: Context, kind: string): Maker {
  const known = makers.get(kind) ?? KINDS[kind]!(domain ??= new ProtectionDomain(context));
  makers.set(kind, known);
  return known;
}

export function makeAndEnd(context: Context, kind: string, plan: Plan): Promise<number> {
  const make = makerOf(context, kind);
  return middlePart(plan, (count) => {
    for (let i = 0; i < count; i++) make()[Symbol.dispose]();
  });
}

interface Usage {
  readonly heap: number;
  readonly resident: number;
}

/**
 * What is in use after a collection of garbage. Needs `--expose-gc`. Objects that a WeakRef was made for stay until the
 * turn of the event loop ends.
 */
async function usage(): Promise<Usage> {
  await new Promise((resolve) => setTimeout(resolve, 0));
  (globalThis as unknown as { gc: () => void }).gc();
  const { heapUsed, rss } = Deno.memoryUsage();
  return { heap: heapUsed, resident: rss };
}

/** The bytes of heap that so many cycles of making and destroying an object of each kind leave behind, and all bytes. */
export async function growth(context: Context, { count }: Plan): Promise<Sample> {
  const all = ["ah", "mr_4k", "cq", "qp"].map((kind) => makerOf(context, kind));
  const cycle = (): void => {
    for (const make of all) make()[Symbol.dispose]();
  };
  for (let i = 0; i < count / 5; i++) cycle();
  const before = await usage();
  for (let i = 0; i < count; i++) cycle();
  const after = await usage();
  const grown = (of: keyof Usage): number => Math.max(0, after[of] - before[of]);
  return { value: grown("heap"), resident: grown("resident") };
}

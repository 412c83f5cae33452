/** A port over time. */

import { type Context, nameOf, PortState } from "@rdma/ibverbs";
import { listSysfs, readSysfs } from "../shell/sysfs.ts";

/** Folders of a port that have counters: those of the InfiniBand specification, and those of the driver. */
const FOLDERS = ["counters", "hw_counters"];

/** Not a counter: how long the kernel keeps values of `hw_counters`, in milliseconds. */
const LIFESPAN = "lifespan";

/** Whether the program may read counters. */
export function canReadCounters(): boolean {
  return listSysfs("class/infiniband") !== undefined;
}

/** Values of counters by their names. */
type Counters = ReadonlyMap<string, bigint>;

function readCounters(device: string, port: number): Counters {
  const counters = new Map<string, bigint>();
  for (const folder of FOLDERS) {
    const path = `class/infiniband/${device}/ports/${port}/${folder}`;
    for (const name of listSysfs(path) ?? []) {
      const text = name === LIFESPAN ? "" : readSysfs(`${path}/${name}`) ?? "";
      if (/^\d+$/.test(text)) counters.set(name, BigInt(text));
    }
  }
  return counters;
}

export interface CounterRate {
  readonly name: string;
  readonly value: bigint;
  /** The growth since the previous sample; undefined at first, and after a reset. */
  readonly delta: bigint | undefined;
  readonly rate: number | undefined;
}

/** Compares two samples that are some seconds apart. */
export function ratesOf(
  before: Counters | undefined,
  now: Counters,
  seconds: number,
): CounterRate[] {
  return [...now].map(([name, value]) => {
    const old = before?.get(name);
    if (old === undefined || value < old) return { name, value, delta: undefined, rate: undefined };
    const delta = value - old;
    return { name, value, delta, rate: Number(delta) / seconds };
  });
}

export interface PortSample {
  readonly device: string;
  readonly port: number;
  /** The name of its state; `unknown` if the device does not answer. */
  readonly state: string;
  readonly counters: readonly CounterRate[];
}

/** Watches a port of an open device. Each call reads the port; rates are since the previous call. */
export function monitorOf(context: Context, port: number): () => PortSample {
  const device = context.device.name;
  let before: Counters | undefined;
  let time = 0;
  return () => {
    const now = readCounters(device, port);
    const start = time;
    time = performance.now();
    const counters = ratesOf(before, now, (time - start) / 1000);
    before = now;
    return { device, port, state: stateOf(context, port), counters };
  };
}

function stateOf(context: Context, port: number): string {
  try {
    return nameOf(PortState, context.queryPort(port).state);
  } catch {
    return "unknown";
  }
}

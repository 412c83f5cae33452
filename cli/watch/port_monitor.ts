/** A port over time. */

import { type Context, nameOf, PortState } from "../../mod.ts";
import { listSysfs, readSysfs } from "../shell/sysfs.ts";
import { type CounterRate, type Counters, ratesOf } from "./rates.ts";

/** Folders of a port that have counters: those of the InfiniBand specification, and those of the driver. */
const FOLDERS = ["counters", "hw_counters"];

/** Not a counter: how long the kernel keeps values of `hw_counters`, in milliseconds. */
const LIFESPAN = "lifespan";

/** Whether the program may read counters. */
export function canReadCounters(): boolean {
  return listSysfs("class/infiniband") !== undefined;
}

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

export interface PortSample {
  readonly device: string;
  readonly port: number;
  /** The name of its state; `unknown` if the device does not answer. */
  readonly state: string;
  readonly counters: readonly CounterRate[];
}

export class PortMonitor {
  readonly #context: Context;
  readonly #port: number;
  #before: Counters | undefined;
  #time = 0;

  /** Watches a port of an open device. */
  constructor(context: Context, port: number) {
    this.#context = context;
    this.#port = port;
  }

  /** Reads the port. Rates are since the sample before. */
  sample(): PortSample {
    const device = this.#context.device.name;
    const counters = readCounters(device, this.#port);
    const time = performance.now();
    const rates = ratesOf(this.#before, counters, (time - this.#time) / 1000);
    this.#before = counters;
    this.#time = time;
    return { device, port: this.#port, state: this.#state(), counters: rates };
  }

  #state(): string {
    try {
      return nameOf(PortState, this.#context.queryPort(this.#port).state);
    } catch {
      return "unknown";
    }
  }
}

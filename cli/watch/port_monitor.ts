/** A port over time. */

import { type Context, nameOf, PortState } from "../../mod.ts";
import { readCounters } from "./counters.ts";
import type { Counters } from "./counters.ts";
import { type CounterRate, ratesOf } from "./rates.ts";

/** A port at one moment. */
export interface PortSample {
  readonly device: string;
  readonly port: number;
  /** The name of its state; `unknown` if the device does not answer. */
  readonly state: string;
  readonly counters: readonly CounterRate[];
}

/** Samples a port. */
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

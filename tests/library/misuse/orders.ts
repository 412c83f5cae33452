// Orders of disposal.

import type { Resource } from "../../../mod.ts";
import type { Case } from "./cases.ts";
import { NAMES } from "../registry/world.ts";

/** The same objects disposed in a number of orders. */
export function disposalOrders(count: number): Case[] {
  return Array.from({ length: count }, (_, seed) => disposalOrder(seed));
}

function disposalOrder(seed: number): Case {
  return {
    id: `All objects are disposed in order ${seed}`,
    run: (world) => {
      const random = new Random(seed);
      const made = NAMES.filter(() => random.below(4) > 0);
      for (const name of made) void world[name];
      const resources = world.resources.map(([, resource]) => resource as Resource);
      random.shuffle(resources);
      for (const resource of resources) {
        if (random.below(8) === 0) resource.close();
        resource.close();
        if (!resource.disposed) throw new Error("A disposed resource is open");
      }
    },
  };
}

/** A stream of numbers that follows from its seed (mulberry32). */
class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** An integer from 0 to a limit, which it does not reach. */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let bits = this.#state;
    bits = Math.imul(bits ^ (bits >>> 15), bits | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) % limit;
  }

  /** Puts a list into another order. */
  shuffle(list: unknown[]): void {
    for (let i = list.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      [list[i], list[j]] = [list[j], list[i]];
    }
  }
}

// Orders of disposal.

import type { Resource } from "../../../mod.ts";
import type { Case } from "./cases.ts";
import { NAMES } from "../registry/object_set.ts";
import { Random } from "../../random.ts";

/** The same objects disposed in a number of orders. */
export function disposalOrders(count: number): Case[] {
  return Array.from({ length: count }, (_, seed) => disposalOrder(seed));
}

function disposalOrder(seed: number): Case {
  return {
    id: `All objects are disposed in order ${seed}`,
    run: (set) => {
      const random = new Random(seed);
      const made = NAMES.filter(() => random.below(4) > 0);
      for (const name of made) void set[name];
      const shuffled = set.resources.map(([, resource]) => [random.uint32(), resource] as const)
        .sort(([a], [b]) => a - b);
      for (const [, resource] of shuffled as [number, Resource][]) {
        if (random.below(8) === 0) resource.close();
        resource.close();
        if (!resource.disposed) throw new Error("A disposed resource is open");
      }
    },
  };
}

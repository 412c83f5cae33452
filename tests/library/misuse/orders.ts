// Orders of disposal.

import type { Resource } from "../../../mod.ts";
import type { Case } from "./cases.ts";
import { Random } from "./random.ts";
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

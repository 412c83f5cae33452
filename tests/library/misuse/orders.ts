// Orders of disposal.

import type { Resource } from "../../../mod.ts";
import type { Case } from "./cases.ts";
import { Random } from "./random.ts";
import { World } from "./world.ts";
import * as recorder from "../../provider/recorder.ts";

type Name = keyof World & string;

/** The names of all resources of a world, in the order in which they can be made. */
export function resourceNames(): Name[] {
  recorder.reset();
  const world = new World();
  for (const name of getters()) void world[name];
  const names = world.resources.map(([name]) => name as Name);
  world.close();
  return names;
}

function getters(): Name[] {
  const { resources: _, other: __, signal: ___, prepared: ____, ...properties } = Object
    .getOwnPropertyDescriptors(World.prototype) as Record<string, PropertyDescriptor>;
  return Object.keys(properties).filter((name) => properties[name]!.get) as Name[];
}

/** The same objects disposed in a number of orders. */
export function disposalOrders(count: number): Case[] {
  const names = resourceNames();
  return Array.from({ length: count }, (_, seed) => disposalOrder(names, seed));
}

function disposalOrder(names: readonly Name[], seed: number): Case {
  return {
    id: `All objects are disposed in order ${seed}`,
    run: (world) => {
      const random = new Random(seed);
      const made = names.filter(() => random.below(4) > 0);
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

import { AH } from "./ah.ts";
import { FLOWS } from "./flows.ts";
import { OBJECTS } from "./objects.ts";
import { PACKETS } from "./packets.ts";
import { PROGRAMS } from "./programs.ts";
import { SERVERS } from "./servers.ts";
import { STRUCTS } from "./structs.ts";
import type { Target } from "./target.ts";
import { TEXTS } from "./texts.ts";
import { WIRE } from "./wire.ts";

/** All targets, in the order in which they are tried. */
export const TARGETS: readonly Target[] = [
  ...STRUCTS,
  ...TEXTS,
  ...FLOWS,
  ...WIRE,
  ...OBJECTS,
  ...PACKETS,
  ...SERVERS,
  ...PROGRAMS,
  AH,
];

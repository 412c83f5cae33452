import { AH } from "./ah.ts";
import { OBJECTS } from "./objects.ts";
import { PACKETS } from "./packets.ts";
import { PROGRAMS } from "./programs.ts";
import { SERVERS } from "./servers.ts";
import { STRUCTS } from "./structs.ts";
import type { Target } from "./target.ts";
import { TEXTS } from "./texts.ts";

/** All targets, in the order in which they are tried. */
export const TARGETS: readonly Target[] = [
  ...STRUCTS,
  ...TEXTS,
  ...OBJECTS,
  ...PACKETS,
  ...SERVERS,
  ...PROGRAMS,
  AH,
];

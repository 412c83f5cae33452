/** All mutants. */

import { ADDRESS } from "./lists/address.ts";
import { COMPLETION } from "./lists/completion.ts";
import { CORE } from "./lists/core.ts";
import { DEVICE } from "./lists/device.ts";
import { FFI } from "./lists/ffi.ts";
import { FLOW } from "./lists/flow.ts";
import { NET } from "./lists/net.ts";
import { QUEUE_PAIR } from "./lists/queue_pair.ts";
import { REPLY } from "./lists/reply.ts";
import { RXE } from "./lists/rxe.ts";
import { WORK } from "./lists/work.ts";
import { flatten, type Mutant } from "./mutant.ts";

/** All mutants, file by file. */
export const ALL: readonly Mutant[] = flatten([
  ...CORE,
  ...ADDRESS,
  ...DEVICE,
  ...COMPLETION,
  ...QUEUE_PAIR,
  ...WORK,
  ...REPLY,
  ...FLOW,
  ...FFI,
  ...NET,
  ...RXE,
]);

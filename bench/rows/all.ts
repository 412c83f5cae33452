/** All rows, in the order of the table. */

import { COLD } from "./cold.ts";
import { NATIVE } from "./native.ts";
import { RXE } from "./rxe.ts";
import type { Row } from "./types.ts";

/** All rows. */
export const ROWS: readonly Row[] = [...NATIVE, ...RXE, ...COLD];

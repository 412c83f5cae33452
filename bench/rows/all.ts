/** All rows. */

import { COLD } from "./cold.ts";
import { NATIVE } from "./native.ts";
import { RXE } from "./rxe.ts";
import type { Row } from "./types.ts";

/** The rows of the table, in its order. */
export const ROWS: readonly Row[] = [...NATIVE, ...RXE, ...COLD];

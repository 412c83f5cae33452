/** All rows. */

import { COLD } from "./cold.ts";
import { NATIVE } from "./native.ts";
import { RXE } from "./rxe.ts";
import { POINTS } from "./scaling.ts";
import type { Row } from "./types.ts";

/** The rows of the table, in its order. */
export const ROWS: readonly Row[] = [...NATIVE, ...RXE, ...COLD];

/** The rows of the table, and the points of the curves. */
export const MEASURABLE: readonly Row[] = [...ROWS, ...POINTS];

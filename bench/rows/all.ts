/** All rows. */

import { COLD } from "./cold.ts";
import { NATIVE } from "./native.ts";
import { RXE } from "./rxe.ts";
import type { Row, Stage, StageRow } from "./types.ts";

/** The rows of the table, in its order. */
export const ROWS: readonly Row[] = [
  ...rowsOf("native", NATIVE),
  ...rowsOf("rxe", RXE),
  ...rowsOf("cold", COLD),
];

function rowsOf(stage: Stage, rows: readonly StageRow[]): Row[] {
  return rows.map((row) => ({ stage, goals: [], ...row }));
}

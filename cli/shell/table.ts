/** Tables of aligned columns. */

/** A cell that is aligned to the right, such as a number. */
export interface RightAligned {
  readonly right: string;
}

/** A cell of a table. */
export type Cell = string | RightAligned;

/** Rows of cells as lines. Columns are two blanks apart; there are no blanks at the ends of lines. */
export function alignColumns(rows: readonly (readonly Cell[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, i) => widths[i] = Math.max(widths[i] ?? 0, textOf(cell).length));
  }
  return rows.map((row) => row.map((cell, i) => align(cell, widths[i]!)).join("  ").trimEnd());
}

function align(cell: Cell, width: number): string {
  return typeof cell === "string" ? cell.padEnd(width) : cell.right.padStart(width);
}

function textOf(cell: Cell): string {
  return typeof cell === "string" ? cell : cell.right;
}

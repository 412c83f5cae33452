// A terminal that keeps what is printed, and commands that print to it.

import { run } from "../../run.ts";
import { Terminal, type TerminalInit } from "../../shell/terminal.ts";

/** A terminal and what was printed to it. */
export interface Recorder {
  readonly terminal: Terminal;
  out: string;
  err: string;
}

/** A terminal without a person, unless something else is said. */
export function recorder(init: Partial<TerminalInit> = {}): Recorder {
  const recorded = { out: "", err: "" };
  const terminal = new Terminal({
    interactive: false,
    color: false,
    size: () => ({ columns: 80, rows: 24 }),
    write: (text) => recorded.out += text,
    writeError: (text) => recorded.err += text,
    ...init,
  });
  return Object.assign(recorded, { terminal });
}

/** How a command ended, and what it printed. */
export interface Ran {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command line in this process. */
export async function ran(args: readonly string[], init?: Partial<TerminalInit>): Promise<Ran> {
  const kept = recorder(init);
  const status = await run(args, kept.terminal);
  return { status, out: kept.out, err: kept.err };
}

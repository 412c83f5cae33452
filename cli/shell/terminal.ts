import { unicodeWidth } from "@std/cli/unicode-width";
import { escapeControls } from "./text.ts";

const STYLES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const;

/** How a part of a line looks on a terminal with colours. */
export type Style = keyof typeof STYLES;

/** A part of a line with a style. */
export interface Styled {
  readonly text: string;
  readonly style: Style;
}

/**
 * A line without its line feed. Control characters in it are escaped when it is printed, so a peer's text can be a
 * part.
 */
export type Line = string | readonly (string | Styled)[];

/** The parts of a terminal. Tests use parts of their own. */
export interface TerminalInit {
  /** Whether a user watches it. */
  readonly interactive: boolean;
  readonly color: boolean;
  /** Its size in characters. It is called for each screen. */
  readonly size: () => { readonly columns: number; readonly rows: number };
  readonly write: (text: string) => void;
  readonly writeError: (text: string) => void;
}

const CLEAR_LINE = "\x1b[K";
const CLEAR_BELOW = "\x1b[J";
const HOME = "\x1b[H";
const ENTER_SCREEN = "\x1b[?1049h\x1b[?25l";
const LEAVE_SCREEN = "\x1b[?25h\x1b[?1049l";

/** Prints lines. All control characters that reach standard output are written here. */
export class Terminal {
  /** Whether a user watches it. A command may then redraw what it printed. */
  readonly interactive: boolean;
  readonly #init: TerminalInit;

  constructor(init: TerminalInit) {
    this.interactive = init.interactive;
    this.#init = init;
  }

  print(lines: readonly Line[]): void {
    this.#init.write(lines.map((line) => `${this.#render(line)}\n`).join(""));
  }

  printJson(value: unknown, form?: "line"): void {
    this.#init.write(`${jsonText(value, form === "line" ? 0 : 2)}\n`);
  }

  printError(line: string): void {
    this.#init.writeError(`${escapeControls(line)}\n`);
  }

  /** Leaves what is on the terminal until the result is disposed, and shows an empty screen. */
  enterScreen(): Disposable {
    this.#init.write(ENTER_SCREEN);
    return { [Symbol.dispose]: () => this.#init.write(LEAVE_SCREEN) };
  }

  /** Replaces the line that the cursor is in. */
  drawLine(line: string): void {
    this.#init.write(`\r${this.#render(cut(line, this.#init.size().columns - 1))}${CLEAR_LINE}`);
  }

  /** Replaces the screen. Lines and parts of lines that do not fit are left out. */
  drawScreen(lines: readonly Line[]): void {
    const { columns, rows } = this.#init.size();
    const text = lines.slice(0, rows)
      .map((line) => this.#render(cut(line, columns)) + CLEAR_LINE)
      .join("\r\n");
    this.#init.write(HOME + text + CLEAR_BELOW);
  }

  #render(line: Line): string {
    const parts = typeof line === "string" ? [line] : line;
    return parts.map((part) => this.#renderPart(part)).join("");
  }

  #renderPart(part: string | Styled): string {
    if (typeof part === "string") return escapeControls(part);
    const text = escapeControls(part.text);
    return this.#init.color ? `\x1b[${STYLES[part.style]}m${text}\x1b[0m` : text;
  }
}

/** The first characters of a text that fit into this many columns. */
function clip(text: string, columns: number): string {
  let [end, width] = [0, 0];
  for (const character of text) {
    width += unicodeWidth(character);
    if (width > columns) break;
    end += character.length;
  }
  return text.slice(0, end);
}

/** The first characters of a line. Escapes count as what they are on the screen. */
function cut(line: Line, columns: number): Line {
  let room = columns;
  return (typeof line === "string" ? [line] : line).map((part) => {
    const text = clip(escapeControls(typeof part === "string" ? part : part.text), room);
    room -= unicodeWidth(text);
    return typeof part === "string" ? text : { ...part, text };
  });
}

/** The terminal of the process. It has colours if standard output is a terminal and `NO_COLOR` is not set. */
export function systemTerminal(): Terminal {
  const interactive = Deno.stdout.isTerminal();
  return new Terminal({
    interactive,
    color: interactive && !Deno.noColor,
    size: () => Deno.consoleSize(),
    write: (text) => writeAll(Deno.stdout, text),
    writeError: (text) => writeAll(Deno.stderr, text),
  });
}

function writeAll(file: { writeSync(bytes: Uint8Array): number }, text: string): void {
  let rest = new TextEncoder().encode(text);
  while (rest.length > 0) rest = rest.subarray(file.writeSync(rest));
}

/** A value as indented JSON. A bigint is a decimal string. JSON itself escapes only the first 32 control characters. */
export function jsonText(value: unknown, indent = 2): string {
  const text = JSON.stringify(value, withoutBigint, indent);
  // The line feeds are those of the indentation.
  return escapeControls(text, (found) => found === "\n" ? found : found.replace(/[^]/g, utf16));
}

function withoutBigint(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? value.toString() : value;
}

function utf16(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

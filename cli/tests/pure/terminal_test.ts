import { assertEquals, assertRejects } from "@std/assert";
import { jsonText } from "../../shell/terminal.ts";
import { runCli } from "../../mod.ts";
import { readSysfs } from "../../shell/sysfs.ts";
import { systemTerminal } from "../../shell/terminal.ts";
import { alignColumns } from "../../shell/text.ts";
import { recorder } from "./terminal.ts";

const HOSTILE = "a\x1b[2J\n\x9b\u202eb\t\u{e0001}";

Deno.test("Terminal.print() escapes what controls a terminal, and keeps tabs", () => {
  const recorded = recorder({ color: true });
  recorded.terminal.print([HOSTILE, [{ text: HOSTILE, style: "bold" }, "x"]]);
  const harmless = "a\\u{1b}[2J\\u{a}\\u{9b}\\u{202e}b\t\\u{e0001}";
  assertEquals(recorded.out, `${harmless}\n\x1b[1m${harmless}\x1b[0mx\n`);
  recorded.terminal.printError(HOSTILE);
  assertEquals(recorded.err, `${harmless}\n`);
});

Deno.test("Terminal.print() has no colours unless the terminal shows them", () => {
  const recorded = recorder();
  recorded.terminal.print([[{ text: "red", style: "red" }]]);
  assertEquals(recorded.out, "red\n");
});

Deno.test("jsonText() gives JSON that is harmless on a terminal", () => {
  const value = { text: HOSTILE, list: [1n << 63n], none: {} };
  const text = jsonText(value);
  assertEquals(/[^\n\x20-\x7e]/.test(text), false);
  assertEquals(JSON.parse(text), { text: HOSTILE, list: ["9223372036854775808"], none: {} });
  assertEquals(jsonText([1, { a: 2 }], 0), '[1,{"a":2}]');
});

Deno.test("Terminal.drawScreen() cuts what does not fit", () => {
  const recorded = recorder({ size: () => ({ columns: 4, rows: 2 }), color: true });
  recorded.terminal.drawScreen([["abc", { text: "def", style: "red" }], "\x1b[5m", "third"]);
  assertEquals(
    recorded.out,
    "\x1b[Habc\x1b[31md\x1b[0m\x1b[K\r\n\\u{1\x1b[K\x1b[J",
  );
});

Deno.test("Terminal.enterScreen() shows the old screen again at the end", () => {
  const recorded = recorder();
  {
    using _ = recorded.terminal.enterScreen();
    assertEquals(recorded.out, "\x1b[?1049h\x1b[?25l");
  }
  assertEquals(recorded.out, "\x1b[?1049h\x1b[?25l\x1b[?25h\x1b[?1049l");
});

/** Replaces what the process has to write to, until it is disposed. Each write takes three bytes. */
function system(isTerminal: boolean): Disposable & { out: string; err: string } {
  const { stdout, stderr, consoleSize } = Deno;
  const before = [stdout, stderr].map(({ writeSync, isTerminal }) => ({ writeSync, isTerminal }));
  const written = {
    out: "",
    err: "",
    [Symbol.dispose]: () => {
      Object.assign(Deno, { consoleSize });
      for (const [i, file] of [stdout, stderr].entries()) Object.assign(file, before[i]);
    },
  };
  for (const [name, file] of [["out", stdout], ["err", stderr]] as const) {
    const writeSync = (bytes: Uint8Array): number => {
      written[name] += new TextDecoder().decode(bytes.subarray(0, 3));
      return Math.min(bytes.length, 3);
    };
    Object.assign(file, { writeSync, isTerminal: () => isTerminal });
  }
  Object.assign(Deno, { consoleSize: () => ({ columns: 4, rows: 1 }) });
  return written;
}

Deno.test("systemTerminal() writes all to the process's own, with colours on a terminal", () => {
  for (const isTerminal of [false, true]) {
    using written = system(isTerminal);
    const terminal = systemTerminal();
    terminal.print([[{ text: "red", style: "red" }]]);
    terminal.printError("wrong");
    const color = isTerminal && !Deno.noColor;
    assertEquals(written.out, color ? "\x1b[31mred\x1b[0m\n" : "red\n");
    assertEquals([written.err, terminal.interactive], ["wrong\n", isTerminal]);
    terminal.drawScreen(["abcdef"]);
    assertEquals(written.out.endsWith("\x1b[Habcd\x1b[K\x1b[J"), true);
  }
});

Deno.test("runCli() takes an array of strings, but no endless one", async () => {
  using written = system(false);
  assertEquals(await runCli(["x", "y"]), 1);
  assertEquals(written.err, '"x" is not a command; see --help\n');
  await assertRejects(() => runCli(new Array(2 ** 32 - 1)), RangeError);
});

Deno.test("readSysfs() opens no file that the program may not read", () => {
  const { readTextFileSync, permissions } = Deno;
  const opened: unknown[] = [];
  Deno.readTextFileSync = (path) => `${opened.push(path)}\n`;
  const { querySync } = permissions;
  try {
    assertEquals([readSysfs("a"), opened], ["1", ["/sys/a"]]);
    permissions.querySync = () => ({ state: "prompt" }) as Deno.PermissionStatus;
    assertEquals([readSysfs("a"), opened.length], [undefined, 1]);
  } finally {
    Deno.readTextFileSync = readTextFileSync;
    permissions.querySync = querySync;
  }
});

Deno.test("columns and lines are measured as a terminal shows them", () => {
  assertEquals(alignColumns([["天地", "a"], ["rxe", "b"]]), ["天地  a", "rxe   b"]);
  const size = (): { columns: number; rows: number } => ({ columns: 6, rows: 1 });
  const recorded = recorder({ size });
  recorded.terminal.drawLine("a天地玄");
  assertEquals(recorded.out, "\ra天地\x1b[K");
});

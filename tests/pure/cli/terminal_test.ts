import { assertEquals } from "@std/assert";
import { jsonText } from "../../../cli/escape.ts";
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

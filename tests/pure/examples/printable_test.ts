import { assertEquals } from "@std/assert";
import { escapeControls, printable } from "../../../examples/support/printable.ts";

Deno.test("printable() escapes every character that controls a terminal", () => {
  for (let code = 0; code < 0x20; code++) {
    assertEquals(/\p{Cc}/u.test(printable(String.fromCharCode(code))), false);
  }
  for (let code = 0x7f; code < 0xa0; code++) {
    assertEquals(printable(String.fromCharCode(code)), `"\\u{${code.toString(16)}}"`);
  }
  assertEquals(printable('Grüße "世界" 🎉'), String.raw`"Grüße \"世界\" 🎉"`);
});

Deno.test("escapeControls() keeps the other characters", () => {
  assertEquals(escapeControls('"a\u202e\n\u2028\tü'), String.raw`"a\u{202e}\u{a}\u{2028}\u{9}ü`);
});

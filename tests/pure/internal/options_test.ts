import { assertEquals, assertThrows } from "@std/assert";
import { text } from "../../../internal/checks.ts";
import { oneOf, option, readOptions, type Rules, within } from "../../../internal/options.ts";

interface Options {
  port: number;
  device: string | undefined;
  kind: "a" | "b";
}

const RULES: Rules<Options> = {
  port: option(within(1, 255), 1),
  device: option(text, undefined),
  kind: option(oneOf("a", "b"), "b"),
};

const read = (options: unknown): Options => readOptions<Options>(options as object, RULES);

Deno.test("readOptions() checks what is given, and gives defaults", () => {
  assertEquals(read({}), { port: 1, device: undefined, kind: "b" });
  const all = { port: 255, device: "a", kind: "a" } as const;
  assertEquals(read(all), all);
});

Deno.test("readOptions() names the option that it refuses", () => {
  const wrong: [unknown, typeof TypeError, string][] = [
    [{ port: 256 }, RangeError, "Cannot use port 256: it is not within 1 to 255"],
    [{ port: null }, TypeError, "Cannot use port null: it is not an integer"],
    [{ device: 5 }, TypeError, "Cannot use device 5: it is not a string"],
    [{ kind: "c" }, TypeError, 'Cannot use kind "c": it is not "a" or "b"'],
    [{ Port: 1 }, TypeError, 'Cannot use options: there is no attribute "Port"'],
    [null, TypeError, "Cannot use options null: it is not an object"],
  ];
  for (const [options, error, message] of wrong) {
    assertThrows(() => read(options), error, message);
  }
});

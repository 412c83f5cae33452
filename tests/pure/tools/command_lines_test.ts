// What the tools make of their command lines.

import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { many, oneOf, positive, readOptions, text } from "../../../tools/host/options.ts";
import { runDeno, type ScriptResult, stdOptions } from "../../subprocess.ts";

const KNOWN = {
  accel: oneOf("kvm", "tcg"),
  filter: text,
  help: "flag",
  stub: "flag",
  timeout: positive,
} as const;

Deno.test("readOptions() tells options, operands and the rest apart", () => {
  const args = ["--", "--stub", "true", "--timeout=5", "--filter=-x", "a", "--", "--stub", "b"];
  assertEquals(readOptions(args, KNOWN), {
    options: { stub: true, timeout: 5, filter: "-x" },
    operands: ["true", "a"],
    rest: ["--stub", "b"],
  });
});

const refused: [args: string[], message: string][] = [
  [["--bogus", "tests/pure"], '"--bogus" is not an option'],
  [["-x"], '"-x" is not an option'],
  [["--__proto__"], '"--__proto__" is not an option'],
  [["--stub=true"], "--stub takes no value"],
  [["--timeout=-1"], '--timeout takes a whole number from 1, not "-1"'],
  [["--timeout", "-1"], '"-1" is not an option'],
  [["--timeout", "1.5"], '--timeout takes a whole number from 1, not "1.5"'],
  [["--timeout"], "--timeout takes a whole number from 1, not nothing"],
  [["--accel=xen"], '--accel takes kvm or tcg, not "xen"'],
];

Deno.test("readOptions() refuses wrong options", () => {
  for (const [args, message] of refused) {
    assertEquals(assertThrows(() => readOptions(args, KNOWN), Error).message, message);
  }
});

Deno.test("readOptions() keeps all values of an option that may be given several times", () => {
  const { options } = readOptions(["--a", "x", "--b", "1", "--a=y", "-cz"], {
    ...{ a: many(text), b: text, c: { ...text, short: "c" } },
  });
  assertEquals(options, { a: ["x", "y"], b: "1", c: "z" });
});

/** Runs a tool. One that goes on in spite of its options gets no further than to the guest. */
function run(tool: string, ...args: string[]): Promise<ScriptResult> {
  const words = [
    "run",
    "-A",
    "--quiet",
    "--no-check",
    ...stdOptions(),
    `tools/${tool}.ts`,
    ...args,
  ];
  return runDeno(words, { env: { IBVERBS_ACCEL: "none" } });
}

for (const tool of ["check", "demo", "test", "rxe"]) {
  Deno.test(`deno task ${tool} --help and an unknown option do nothing but show a text`, async () => {
    const stderr = 'error: "--bogus" is not an option; see --help\n';
    assertEquals(await run(tool, "--bogus", "tests/pure"), { code: 1, stdout: "", stderr });
    const help = await run(tool, "--help");
    assertEquals([help.code, help.stderr], [0, ""]);
    assertStringIncludes(help.stdout, `deno task ${tool}`);
  });
}

Deno.test("deno task test refuses paths and options of deno test before it does anything", async () => {
  const missing = 'error: Cannot test "tests/pure/none_test.ts": there is no such file or folder\n';
  const path = await run("test", "tests/pure/none_test.ts");
  assertEquals(path, { code: 1, stdout: "", stderr: missing });
  const { code, stdout, stderr } = await run("test", "--", "--both", "--", "--bogus");
  assertEquals([code, stdout], [1, ""]);
  assertStringIncludes(stderr, "error: deno test: unexpected argument '--bogus'");
});

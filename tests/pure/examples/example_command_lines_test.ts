import { assertEquals, assertStringIncludes } from "@std/assert";

/** Runs an example without any rights: none is needed to read the command line. */
async function runExample(name: string, ...args: string[]): Promise<[number, string]> {
  const file = new URL(`../../../examples/${name}.ts`, import.meta.url).pathname;
  const resolved = import.meta.resolve("@std/cli/parse-args");
  const map = resolved.startsWith("file:")
    ? [`--import-map=${new URL("import_map.json", resolved).pathname}`]
    : [];
  const options = ["--quiet", "--no-check", "--no-prompt", ...map];
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", ...options, file, ...args],
  }).output();
  const decoder = new TextDecoder();
  return [code, decoder.decode(stdout) + decoder.decode(stderr)];
}

Deno.test("ud_pingpong and ud_reply_path show their options", async () => {
  for (
    const [name, usage] of [
      ["ud_pingpong", "  pingpong ud [OPTIONS] [HOST]"],
      ["ud_reply_path", "deno run --allow-ffi --allow-net examples/ud_reply_path.ts"],
    ] as const
  ) {
    const [code, output] = await runExample(name, "--help");
    assertEquals(code, 0);
    assertStringIncludes(output, usage);
    assertStringIncludes(output, "-g, --gid-i");
  }
});

Deno.test("examples end with the status of the C tool, or 2, when the command line is wrong", async () => {
  const cases: [args: string[], code: number, message: string][] = [
    [["ud_pingpong", "--frobnicate"], 1, 'pingpong: "--frobnicate" is not an option; see'],
    [["ud_pingpong", "--reply-from-wc", "host"], 1, "--reply-from-wc is for the server"],
    [["ud_reply_path", "--timeout", "2147484"], 2, "--timeout takes a whole number from 1 to"],
    [["ud_reply_path", "--frobnicate"], 2, '"--frobnicate" is not an option'],
    [["ud_reply_path", "somewhere"], 2, '"somewhere" is not an option'],
    [["ud_reply_path", "--listen", "--connect", "::1"], 2, "Give --listen or --connect, not both"],
    [["ud_reply_path", "--port", "x"], 2, "--port takes a whole number from 1 to 255"],
  ];
  for (const [[name, ...args], code, message] of cases) {
    const [status, output] = await runExample(name!, ...args);
    assertStringIncludes(output, message);
    assertEquals(status, code);
  }
});

import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { helpOf, parseOptions } from "../../../examples/pingpong/options.ts";
import { UsageError } from "../../../examples/support/command_line.ts";
import { TOOLS } from "../../../examples/pingpong/tools.ts";

const TOOL = TOOLS.ud_pingpong;

Deno.test("parseOptions() has the defaults of ibv_ud_pingpong", () => {
  const options = parseOptions(TOOL, [])!;
  assertEquals(
    [options.port, options.ibPort, options.size, options.rxDepth, options.iters, options.sl],
    [18515, 1, 1024, 500, 1000, 0],
  );
  assertEquals([options.host, options.ibDev, options.gidIdx], [undefined, undefined, undefined]);
  assertEquals([options.events, options.chk, options.replyFromWc], [false, false, false]);
});

Deno.test("parseOptions() takes the options of ibv_ud_pingpong, short and long", () => {
  const short = "-p 1 -d mlx5_0 -i 2 -s 3 -r 4 -n 5 -l 6 -e -g 7 -c host";
  const long = "--port=1 --ib-dev=mlx5_0 --ib-port=2 --size=3 --rx-depth=4 --iters=5 --sl=6 " +
    "--events --gid-idx=7 --chk host";
  const joined = "-p1 -d mlx5_0 -i2 -s3 -r4 -n5 -l6 -ec -g7 host";
  const expected = {
    host: "host",
    port: 1,
    ibDev: "mlx5_0",
    ibPort: 2,
    size: 3,
    mtu: 1024,
    numQp: 16,
    rxDepth: 4,
    iters: 5,
    sl: 6,
    events: true,
    gidIdx: 7,
    chk: true,
    replyFromWc: false,
    timeout: 10,
    warmUp: 20_000,
  };
  for (const line of [short, long, joined]) {
    assertEquals(parseOptions(TOOL, line.split(" ")), expected, line);
  }
});

Deno.test("parseOptions() throws when the command line is wrong", () => {
  const cases: [line: string, message: string][] = [
    ["-n 0", '--iters takes a whole number from 1 to 2147483647, not "0"'],
    ["-n ten", "--iters takes"],
    ["-s 1.5", "--size takes"],
    ["-p 65536", "--port takes a whole number from 1 to 65535"],
    ["-i 0", "--ib-port takes"],
    ["-g -1", "-1"],
    ["-g", '--gid-idx takes a whole number from 0 to 255, not ""'],
    ["--frobnicate", '"--frobnicate" is not an option'],
    ["one two", "There is one host at most"],
    ["--num-qp=2", '"--num-qp=2" is not an option'],
    ["--timeout=2147484", "--timeout takes a whole number from 1 to 2147483, not"],
  ];
  for (const [line, message] of cases) {
    assertThrows(() => parseOptions(TOOL, line.split(" ")), UsageError, message);
  }
});

Deno.test("parseOptions() refuses options of srq_pingpong that do not fit together", () => {
  const parse = (line: string): unknown => parseOptions(TOOLS.srq_pingpong, line.split(" "));
  assertThrows(() => parse("-q 257"), UsageError, "--num-qp takes a whole number from 1 to 256");
  assertThrows(() => parse("-r 15"), UsageError, "each of 16 queue pairs needs a receive");
  assertThrows(() => parse("-m 1500"), UsageError, "--mtu takes 256, 512, 1024, 2048 or 4096");
});

Deno.test("helpOf() shows every option with its default", () => {
  const help = helpOf(TOOL);
  assertStringIncludes(help, "\n  -s, --size=BYTES         size of a message (default 1024)\n");
  assertStringIncludes(help, "\n      --reply-from-wc      server: reply to");
  assertStringIncludes(help, "\n  -g, --gid-idx=INDEX ");
});

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
  for (const name of ["ud_pingpong", "ud_reply_path"]) {
    const [code, output] = await runExample(name, "--help");
    assertEquals(code, 0);
    assertStringIncludes(output, `deno run --allow-ffi --allow-net examples/${name}.ts`);
    assertStringIncludes(output, "-g, --gid-i");
  }
});

Deno.test("ud_pingpong and ud_reply_path end with status 2 when the command line is wrong", async () => {
  const cases: [args: string[], message: string][] = [
    [["ud_pingpong", "--frobnicate"], 'ud_pingpong: "--frobnicate" is not an option\nTry --help'],
    [["ud_pingpong", "--reply-from-wc", "host"], "--reply-from-wc is for the server"],
    [["ud_reply_path", "--timeout", "2147484"], "--timeout takes a whole number from 1 to 2147483"],
    [["ud_reply_path", "--frobnicate"], '"--frobnicate" is not an option'],
    [["ud_reply_path", "somewhere"], '"somewhere" is not an option'],
    [["ud_reply_path", "--listen", "--connect", "::1"], "Give --listen or --connect, not both"],
    [["ud_reply_path", "--port", "x"], "--port takes a whole number from 1 to 255"],
  ];
  for (const [[name, ...args], message] of cases) {
    const [code, output] = await runExample(name!, ...args);
    assertStringIncludes(output, message);
    assertEquals(code, 2);
  }
});

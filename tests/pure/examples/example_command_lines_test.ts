import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { runDeno, stdOptions } from "../../subprocess.ts";

/** Runs an example without any rights: none is needed to read the command line. */
async function runExample(
  [name, ...args]: readonly string[],
): Promise<[code: number, output: string]> {
  const options = ["--quiet", "--no-check", "--no-prompt", ...stdOptions()];
  const { code, stdout, stderr } = await runDeno([
    "run",
    ...options,
    `examples/${name}.ts`,
    ...args,
  ]);
  return [code, stdout + stderr];
}

/** Each example, with the rights that it needs to run both ends in one process. */
const LADDER = {
  devices: "--allow-ffi",
  ud_echo: "--allow-ffi",
  ud_reply_path: "--allow-ffi",
  reply_path_clients: "--allow-ffi",
  rc_write_imm: "--allow-ffi",
  atomics_counter: "--allow-ffi --allow-net",
  file_transfer: "--allow-ffi --allow-net",
  rpc_by_address: "--allow-ffi",
  multicast_chat: "--allow-ffi",
  rss_table: "--allow-ffi",
  watch_events: "--allow-ffi",
  service: "--allow-ffi --allow-net",
  workers: "--allow-ffi --allow-read",
};

for (const [name, rights] of Object.entries(LADDER)) {
  Deno.test(`${name}.ts shows its options and its rights, and refuses other options`, async () => {
    const [code, output] = await runExample([name, "--help"]);
    assertEquals(code, 0);
    assertStringIncludes(output, `  deno run ${rights} examples/${name}.ts`);
    assertMatch(output, /^ {2}-d, --device NAME /m);
    assertMatch(output, /^ {2}-h, --help +show this text$/m);
    // The lines of a help fit a terminal.
    assertEquals(output.split("\n").filter((line) => line.length > 100), []);
    const [status, message] = await runExample([name, "--frobnicate"]);
    assertEquals(status, 2);
    assertMatch(message, RegExp(`^${name}: Unknown option '--frobnicate'`));
  });
}

Deno.test("examples/README.md lists each example, in the order of the ladder first", async () => {
  const folder = new URL("../../../examples/", import.meta.url);
  const text = Deno.readTextFileSync(new URL("README.md", folder));
  const listed = [...text.matchAll(/\]\((\w+)\.ts\)/g)].map(([, name]) => name!);
  const files = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name)
    .filter((name) => name.endsWith(".ts")).map((name) => name.slice(0, -3));
  assertEquals(listed.toSorted(), files.toSorted());
  assertEquals(new Set(listed.slice(0, 13)), new Set(Object.keys(LADDER)));
});

/** Wrong command lines, and what the examples say. Each kind of option has one here; they share what reads them. */
const WRONG: [line: string, message: string][] = [
  ["ud_reply_path --timeout 86401", "--timeout takes a whole number from 1 to"],
  ["ud_reply_path somewhere", "Unexpected argument 'somewhere'"],
  ["ud_reply_path --port", "'-i, --port <value>' argument missing"],
  ["ud_reply_path --port x", "--port takes a whole number from 1 to 255"],
  ["ud_echo --listen --connect ::1", "Give --listen or --connect, not both"],
  ["ud_echo --tcp-port 65536", "--tcp-port takes a whole number from 1 to 65535"],
  [`rc_write_imm -m ${"x".repeat(257)}`, "--message takes 8 lines of 256 bytes"],
  ["file_transfer --size=-1", "--size takes a whole number from 0 to"],
  ["rss_table --queues 0", "--queues takes"],
  ["rss_table --entries 3", "rss_table: "],
  ["rss_table --fields ipv5", "--fields takes src_ipv4"],
  ["rss_table --key ab", "rss_table: "],
  ["rss_table --predict x", "rss_table: "],
];

Deno.test("examples end with status 2 when the command line is wrong", async () => {
  await Promise.all(WRONG.map(async ([line, message]) => {
    const [status, output] = await runExample(line.split(" "));
    assertStringIncludes(output, message);
    assertEquals(status, 2, output);
  }));
});

Deno.test("the ping-pongs end with the status of the C tools when the command line is wrong", async () => {
  await Promise.all(["rc", "srq", "uc", "ud"].map(async (kind) => {
    const [status, output] = await runExample([`${kind}_pingpong`, "--frobnicate"]);
    assertStringIncludes(output, 'pingpong: "--frobnicate" is not an option; see');
    assertEquals(status, 1, output);
  }));
});

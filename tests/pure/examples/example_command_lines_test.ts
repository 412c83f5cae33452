import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { runExample } from "./run_example.ts";

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
    assertEquals(await runExample([name, "--frobnicate"]), [
      2,
      `${name}: "--frobnicate" is not an option\nTry --help\n`,
    ]);
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

const WRONG: [line: string, code: number, message: string][] = [
  ["ud_reply_path --timeout 2147484", 2, "--timeout takes a whole number from 1 to"],
  ["ud_reply_path somewhere", 2, '"somewhere" is not an option'],
  ["ud_reply_path --port x", 2, "--port takes a whole number from 1 to 255"],
  ["ud_reply_path --port ", 2, "--port takes a whole number from 1 to 255, not nothing"],
  ["ud_echo --listen --connect ::1", 2, "Give --listen or --connect, not both"],
  ["ud_echo --tcp-port 65536", 2, "--tcp-port takes a whole number from 1 to 65535"],
  ["reply_path_clients --clients=0", 2, "--clients takes a whole number from 1 to 1000"],
  ["rc_write_imm -m 1/2/3/4/5/6/7/8/9", 2, "--message takes 8 lines of 256 bytes"],
  [`rc_write_imm -m ${"x".repeat(257)}`, 2, "--message takes 8 lines of 256 bytes"],
  ["atomics_counter -l -c ::1", 2, "Give --listen or --connect, not both"],
  ["atomics_counter --adds=1e3", 2, "--adds takes a whole number from 1 to 1000000"],
  ["file_transfer -l -c ::1", 2, "Give --listen or --connect, not both"],
  ["file_transfer --size=-1", 2, "--size takes a whole number from 0 to"],
  ["rpc_by_address -l -c ::1", 2, "Give --listen or --connect, not both"],
  ["rpc_by_address --service=0", 2, "--service takes a whole number from 1 to 65535"],
  ["multicast_chat --gid-index=-1", 2, "--gid-index takes a whole number from 0 to 255"],
  ["watch_events --seconds=0x", 2, "--seconds takes a whole number from 1 to 2147483"],
  ["workers --workers 65", 2, "--workers takes a whole number from 1 to 64"],
  ["rss_table --queues 0", 2, "--queues takes"],
  ["rss_table --entries 3", 2, "rss_table: "],
  ["rss_table --fields ipv5", 2, "--fields takes ipv4,ipv6,tcp,udp"],
  ["rss_table --predict x", 2, "rss_table: "],
];

Deno.test("examples end with the status of the C tool, or 2, when the command line is wrong", async () => {
  await Promise.all(WRONG.map(async ([line, code, message]) => {
    const [status, output] = await runExample(line.split(" "));
    assertStringIncludes(output, message);
    assertEquals(status, code, output);
  }));
});

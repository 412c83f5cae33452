// Each example in a project of its own, which has the built package and copies of the files that the example imports.
import { DEVICE } from "../../provider/shm.ts";
import "../shm_device.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { dirname, join } from "node:path/posix";
import ts from "npm:typescript@5.9.3";
import denoJson from "../../../deno.json" with { type: "json" };
import { startRegistry } from "../../../tools/package/registry.ts";
import type { Program } from "../../device/programs.ts";

// Not before: they look for the device.
const { argsOf, assertPrinted, ROWS } = await import("../../device/examples/ladder.ts");
const programs = await import("../../device/programs.ts");
const { deviceTest } = await import("../../device/setup.ts");

const EXAMPLES = new URL("../../../examples/", import.meta.url).pathname;
const registry = await startRegistry();
const { name: library, version, imports } = denoJson;
const CONFIG = JSON.stringify({
  imports: { [library]: `jsr:${library}@^${version}`, ...imports },
  lock: false,
});

/** Makes a project with an example and what it imports of its own folders. */
async function projectWith(name: string): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "project-" });
  await Deno.writeTextFile(`${folder}/deno.json`, CONFIG);
  await copy(`${name}.ts`, folder);
  if (name === "workers") await copy("workers/worker.ts", folder);
  return folder;
}

async function copy(file: string, folder: string): Promise<void> {
  assertEquals(file.startsWith("../"), false, `an example imports ${file}`);
  const text = await Deno.readTextFile(EXAMPLES + file);
  await Deno.mkdir(dirname(`${folder}/${file}`), { recursive: true });
  await Deno.writeTextFile(`${folder}/${file}`, text);
  for (const { fileName } of ts.preProcessFile(text).importedFiles) {
    if (fileName.startsWith(".")) await copy(join(dirname(file), fileName), folder);
  }
}

const ENV = { JSR_URL: registry.url, NO_COLOR: "1" };

/** Tests what an example does in a project of its own. */
function testIn(
  name: string,
  args: () => readonly string[],
  body: (program: Program) => Promise<void>,
): void {
  deviceTest(`${name}.ts runs in a project of its own`, async () => {
    const cwd = await projectWith(name);
    try {
      const words = ["run", "--quiet", "--no-check", "-A", `${name}.ts`, ...args()];
      await using program = new programs.Program(Deno.execPath(), words, { cwd, env: ENV });
      await body(program);
    } finally {
      await Deno.remove(cwd, { recursive: true });
    }
  });
}

// The device has no connections by address: librdmacm needs a kernel.
const { rpc_by_address: _, ...rows } = ROWS;
for (const [name, row] of Object.entries(rows)) {
  testIn(name, () => argsOf(row), async ({ ending }) => assertPrinted(await ending, row));
}

testIn("rpc_by_address", () => ["-d", DEVICE], async ({ ending }) => {
  const { code, stderr } = await ending;
  assertEquals(code, 1, stderr);
  assertStringIncludes(stderr, "rdma_create_event_channel gave ENODEV");
});

const FLOW = "66.9.149.187:2794 > 161.142.100.80:1766 tcp";

testIn("rss_table", () => ["--predict", FLOW], async ({ ending }) => {
  const { code, stdout, stderr } = await ending;
  assertEquals(code, 0, stderr);
  assertStringIncludes(stdout, `51ccc178     0     0  ${FLOW}\n`);
});

testIn("service", () => ["-d", DEVICE, `--http-port=${programs.freshPort()}`], async (program) => {
  const first = await program.line() ?? (await program.ending).stderr;
  assertStringIncludes(first, "the address and the counters: http://");
  await program.kill("SIGTERM");
  assertStringIncludes((await program.ending).stdout, "ended: 0 datagrams came");
});

testIn("multicast_chat", () => ["-d", DEVICE, "--group", "ff0e::1234"], async (program) => {
  await program.endInput();
  const { code, stdout, stderr } = await program.ending;
  assertEquals(code, 0, stderr);
  assertStringIncludes(stdout, "group ff0e::1234, you are ");
});

Deno.test("The types of the examples are right in projects with the compiler's defaults", async () => {
  const folder = await Deno.makeTempDir({ prefix: "project-" });
  try {
    await Deno.writeTextFile(`${folder}/deno.json`, CONFIG);
    const names = [...Object.keys(ROWS), "rss_table", "service", "multicast_chat"];
    for (const name of names) await copy(`${name}.ts`, folder);
    await copy("workers/worker.ts", folder);
    const args = ["check", "--quiet", "."];
    const command = new Deno.Command(Deno.execPath(), { args, cwd: folder, env: ENV });
    const { stderr } = await command.output();
    assertEquals(new TextDecoder().decode(stderr), "");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

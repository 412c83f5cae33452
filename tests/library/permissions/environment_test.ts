// What environment variables can make the module load, with or without Deno's permission, as SECURITY.md says.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { recorderPath } from "../../provider/compile.ts";
import { libibverbs } from "../../../ffi/library/discovery.ts";
import { auditedText } from "./audited.ts";

const SECURITY = await Deno.readTextFile(new URL("../../../SECURITY.md", import.meta.url));
const RECORDER = await recorderPath();

// The library stays open.
libibverbs.path();

const LIST = `
  import { listDevices } from "mod.ts";
  console.log(listDevices().map(({ name }) => name).join());`;

for (const [name, value] of [["IBVERBS_LIBRARY", "/nowhere"], ["IBVERBS_THUNKS", "wrong"]]) {
  Deno.test(`${name} has no effect, and is not asked for, without the permission to read it`, async () => {
    const env = { [name!]: value! };
    const { code, output, asked } = await auditedText(["--allow-ffi"], LIST, { env });
    assertEquals(code, 0, output);
    assertEquals([...asked].filter((one) => one.startsWith("env")), []);
    assertStringIncludes(SECURITY, `\`${name}\``);
  });
}

Deno.test("IBVERBS_LIBRARY loads any library with the permission to read it", async () => {
  const env = { IBVERBS_LIBRARY: RECORDER };
  const permissions = ["--allow-ffi", "--allow-env=IBVERBS_LIBRARY"];
  const { output, asked } = await auditedText(permissions, LIST, { env });
  assertStringIncludes(output, "recorder0");
  assert(asked.has("env IBVERBS_LIBRARY"));
});

Deno.test("LD_LIBRARY_PATH chooses libibverbs without a permission of Deno, as SECURITY.md says", async () => {
  const folder = await Deno.makeTempDir();
  await Deno.copyFile(RECORDER, `${folder}/libibverbs.so.1`);
  const env = { LD_LIBRARY_PATH: folder };
  const { output, asked } = await auditedText(["--allow-ffi"], LIST, { env });
  await Deno.remove(folder, { recursive: true });
  assertStringIncludes(output, "recorder0");
  assertEquals([...asked].filter((one) => one.startsWith("env")), []);
  assertStringIncludes(SECURITY, "`LD_LIBRARY_PATH`");
});

/** Names in capitals, as they are in the text of a library. */
const VARIABLE = /\0((?:RDMAV|IBV|VERBS|SYSFS|MLX4)_[A-Z_]+)(?=\0)/g;

Deno.test("SECURITY.md names every environment variable that the installed libibverbs reads", async () => {
  const maps = await Deno.readTextFile("/proc/self/maps");
  const path = /\S*\/libibverbs\.so\.1\S*$/m.exec(maps)![0];
  const text = new TextDecoder("latin1").decode(await Deno.readFile(path));
  const found = new Set([...text.matchAll(VARIABLE)].map(([, name]) => name!));
  assert(found.has("RDMAV_DRIVERS"));
  const missing = [...found].filter((name) => !SECURITY.includes(`\`${name}\``));
  assertEquals(missing, []);
});

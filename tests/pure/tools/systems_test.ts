// What tests ask of the kernel they run on.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { differs } from "../../device/kernels.ts";
import { runDeno, stdOptions } from "../../subprocess.ts";

Deno.test("differs() compares numbers of versions", () => {
  const releases = ["5.10.0-32-amd64", "6.1.0-50-amd64", "6.12.107+deb13-amd64", "7.3.4+deb13"];
  assertEquals(releases.map((release) => differs("dropsDatagrams", release)), [
    ...[false, false, true, true],
  ]);
});

Deno.test("long systems refuses a system that it does not know", async () => {
  const { code, stderr } = await runDeno([
    "run",
    "-A",
    "--no-check",
    ...stdOptions(),
    "tools/systems.ts",
    "14",
  ]);
  assertEquals(code, 1);
  assertStringIncludes(
    stderr,
    'error: There is no system "14", only 11, 12, 13, sid, 6.1, 6.12, 7.3\n',
  );
});

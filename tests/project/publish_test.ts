// The registry takes the packages as they are built.

import { assertEquals } from "@std/assert";
import { buildPackages } from "../../tools/package/build.ts";
import { dryRun } from "../../tools/package/dry_run.ts";

Deno.test("dryRun() can publish what buildPackages() builds", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await buildPackages(folder);
    const { status, stderr } = await dryRun(folder);
    assertEquals(status, 0, stderr);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

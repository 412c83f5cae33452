import { assertEquals, assertStringIncludes } from "@std/assert";
import { runDeno } from "../../../tests/subprocess.ts";

const MAIN = new URL("../../mod.ts", import.meta.url).pathname;

Deno.test("doctor tells that libibverbs is missing, and how to install it", async () => {
  const args = ["run", "-A", "--no-check", MAIN, "doctor", "-n", "0"];
  const env = { IBVERBS_LIBRARY: "/nowhere/libibverbs.so.1" };
  const { code, stdout } = await runDeno(args, { env });
  const [first] = stdout.split("\n");
  assertEquals(code, 2);
  assertStringIncludes(first!, "broken: libibverbs: Cannot open libibverbs. Remedy: Install it (");
});

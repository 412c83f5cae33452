import { assertEquals, assertStringIncludes } from "@std/assert";
import { compileC } from "../../../tests/c/compile.ts";
import { runDeno, runScript, stdOptions } from "../../../tests/subprocess.ts";

const MAIN = new URL("../../mod.ts", import.meta.url).pathname;

Deno.test("doctor says that libibverbs is missing, and how to install it", async () => {
  const args = ["run", "-A", "--no-check", ...stdOptions(), MAIN, "doctor", "-n", "0"];
  const env = { IBVERBS_LIBRARY: "/nowhere/libibverbs.so.1" };
  const { code, stdout } = await runDeno(args, { env });
  const [first] = stdout.split("\n");
  assertEquals(code, 2);
  assertStringIncludes(first!, "broken: libibverbs: Cannot open libibverbs. Remedy: Install it (");
});

Deno.test("devices fails without a device, and says why", async () => {
  const script = `
    import { runCli } from "@rdma/cli";
    console.log(await runCli(["devices"]), await runCli(["devices", "--json"]));`;
  const env = { IBVERBS_LIBRARY: await compileC("old_ibverbs.c", ["-shared", "-fPIC"]) };
  const { stdout, stderr } = await runScript(script, { env, importMap: true });
  assertEquals(stdout, "[]\n1 1");
  assertStringIncludes(stderr, "there is no RDMA device");
});

// What the set-up of the guest may touch: its cache, and by the package manager the packages that it names.

import { assertEquals } from "@std/assert";
import { cacheFolder } from "../../../rxe/host/paths.ts";

/** The programs that the set-up runs: the package manager, and what unpacks packages. */
const PROGRAMS = ["apt-get", "apt-cache", "bash", "env", "/sbin/depmod", "sh", "sudo", "xz"];

const PERMISSIONS = [
  "--allow-env",
  "--allow-read",
  "--allow-sys=uid",
  `--allow-run=${PROGRAMS.join()}`,
  `--allow-write=${cacheFolder()}`,
];

const SCRIPT = `
  import { ensureGuest } from ${JSON.stringify(import.meta.resolve("../../../rxe/guest/parts.ts"))};
  await ensureGuest();`;

Deno.test("ensureGuest() writes to its cache only, and runs the package manager and unpackers only", async () => {
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  await Deno.writeTextFile(file, SCRIPT);
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-check", "--no-prompt", "--no-config", ...PERMISSIONS, file],
    stdin: "null",
  }).output();
  await Deno.remove(file);
  // What it says about its progress is no error.
  assertEquals(code, 0, new TextDecoder().decode(stderr));
});

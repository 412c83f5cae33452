// What the set-up of the guest may touch: its cache, and by the package manager the packages that it names.

import { cacheFolder } from "../../../rxe/host/paths.ts";
import { outputOf } from "../../subprocess.ts";

/** The programs that the set-up runs: the package manager, and what unpacks packages. */
const PROGRAMS = ["apt-get", "apt-cache", "bash", "env", "/sbin/depmod", "sh", "sudo", "xz"];

const PERMISSIONS = [
  "--allow-env",
  "--allow-read",
  "--allow-sys=uid",
  `--allow-run=${PROGRAMS.join()}`,
  `--allow-write=${cacheFolder()}`,
];

Deno.test("ensureGuest() writes to its cache only, and runs the package manager and unpackers only", async () => {
  const parts = import.meta.resolve("../../../rxe/guest/parts.ts");
  const script = `import { ensureGuest } from ${JSON.stringify(parts)}; await ensureGuest();`;
  // What it says about its progress is no error.
  await outputOf(script, { permissions: PERMISSIONS });
});

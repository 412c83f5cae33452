// What the set-up of the guest may touch: its cache, and by the package manager the packages that it names.

import { assertEquals } from "@std/assert";
import { cacheFolder } from "../../host/paths.ts";
import { outputOf, runScript } from "../../../tests/subprocess.ts";
import { DEBIAN } from "./debian.ts";
import { programs } from "./programs.ts";

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
  const parts = import.meta.resolve("../../guest/parts.ts");
  const script = `import { ensureGuest } from ${JSON.stringify(parts)}; await ensureGuest();`;
  // What it says about its progress is no error.
  await outputOf(script, { permissions: PERMISSIONS });
});

/** A host where the files of packages are missing until they are looked for once more. */
const SCRIPT = `
  import { ensureGuest } from ${JSON.stringify(import.meta.resolve("../../guest/parts.ts"))};
  import { ensureStub } from ${JSON.stringify(import.meta.resolve("../../stub/build.ts"))};
  const { statSync } = Deno;
  const asked = new Set(["/usr/bin/apt-get"]);
  Deno.statSync = (path) => {
    if (!/^\\/(usr|etc|sbin)\\//.test(path)) return statSync(path);
    if (asked.has(path)) return statSync("/");
    asked.add(path);
    console.log(path);
    throw new Deno.errors.NotFound();
  };
  const stub = await ensureStub(undefined, (stage) => console.log(stage));
  const { kernel, busybox } = await ensureGuest();
  for (const path of [stub, kernel.folder + "/boot/kernel", busybox]) console.log(Deno.readTextFileSync(path).trim());
  const show = async (folder) => {
    const args = [folder, "!", "-type", "d", "!", "-name", "modules.*", "-printf", "%P %l\\n"];
    const { stdout } = await new Deno.Command("find", { args }).output();
    console.log(folder + "\\n  " + new TextDecoder().decode(stdout).trim().split("\\n").sort().join("\\n  "));
  };
  for (const name of ["6.1", "6.12", "7.3"]) {
    const { kernel } = await ensureGuest({ kernel: name });
    console.log(kernel.version);
    await show(kernel.folder);
  }
  for (const [uid, name] of ["11", "12", "13", "sid"].entries()) {
    Deno.uid = () => uid;
    const { userland } = await ensureGuest({ userland: name });
    if (name === "11") await show(userland);
    if (name === "11") console.log(Deno.readTextFileSync(userland + "/etc/hosts"));
  }
`;

// After a wanted change, run this file with IBVERBS_PRINT=1: it writes set_up.txt anew.
Deno.test("ensureStub() and ensureGuest() get these packages and files of each release, and say so", async () => {
  await using ran = await programs(DEBIAN);
  const env = { IBVERBS_CACHE: `${ran.folder}/cache` };
  const { stdout, stderr } = await runScript(SCRIPT, { env });
  const calls = ran.calls().filter((call) => !/^apt-cache show|^dpkg-deb|--print-uris/.test(call))
    // What is the same for each system stands once.
    .map((call) => call.replaceAll(/\/[\w.-]+\.partial\b/g, "/NEW"));
  const shown = [stdout, stderr, ...new Set(calls), ""].join("\n")
    .replace(/ $|-o \S+=\S+ |\/tmp\/rxe-module-\w+/gm, "")
    .replaceAll(ran.folder, "").replaceAll(Deno.execPath(), "deno");
  const file = new URL("set_up.txt", import.meta.url);
  if (Deno.env.get("IBVERBS_PRINT") === "1") await Deno.writeTextFile(file, shown);
  assertEquals(shown, await Deno.readTextFile(file));
});

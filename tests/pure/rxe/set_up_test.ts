// What the set-up of the guest may touch: its cache, and by the package manager the packages that it names.

import { assertEquals } from "@std/assert";
import { cacheFolder } from "../../../rxe/host/paths.ts";
import { outputOf, runScript } from "../../subprocess.ts";
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
  const parts = import.meta.resolve("../../../rxe/guest/parts.ts");
  const script = `import { ensureGuest } from ${JSON.stringify(parts)}; await ensureGuest();`;
  // What it says about its progress is no error.
  await outputOf(script, { permissions: PERMISSIONS });
});

const VERSION = "6.1.0-1-amd64";

/** Plays apt, and unpacks a package of all that the set-up looks for. */
const SCRIPTS = {
  "apt-get": `for name; do :; done; case "$*" in
    *--print-uris*) echo "'http://host' $name.deb 7000000 x";; *download*) touch "$name.deb";; esac`,
  "apt-cache": `[ "$1" != depends ] || {
      for name; do :; done
      case $name in
      linux-headers*) printf '%s\\n' $name gcc-12 linux-headers-6.1.0-1-common linux-kbuild-6.1;;
      *) echo "Depends: linux-image-${VERSION}";;
      esac
      exit
    }
    shift 2; for name; do echo "Package: $name"; done`,
  "dpkg-deb": "",
  tar: `cd "$3"; mkdir -p boot lib/modules/${VERSION} usr/src/linux-headers-${VERSION}
    for file in boot/vmlinuz-${VERSION} busybox; do echo $file >$file; done`,
  make: `mkdir "\${5#OUT=}"; echo the module >"\${5#OUT=}/stub_hca.ko"`,
};

/** A host where the files of packages are missing until they are looked for once more. */
const SCRIPT = `
  import { ensureGuest } from ${JSON.stringify(import.meta.resolve("../../../rxe/guest/parts.ts"))};
  import { ensureStub } from ${JSON.stringify(import.meta.resolve("../../../rxe/stub/build.ts"))};
  const { statSync } = Deno;
  const asked = new Set(["/usr/bin/apt-get"]);
  Deno.statSync = (path) => {
    if (!/^\\/(usr|etc|sbin)\\//.test(path)) return statSync(path);
    if (asked.has(path)) return statSync("/");
    asked.add(path);
    console.log(path);
    throw new Deno.errors.NotFound();
  };
  const stub = await ensureStub();
  const { kernel, busybox } = await ensureGuest();
  for (const path of [stub, kernel.folder + "/boot/kernel", busybox]) console.log(Deno.readTextFileSync(path).trim());
`;

// After a wanted change, run this file with IBVERBS_PRINT=1: it writes set_up.txt anew.
Deno.test("ensureStub() and ensureGuest() get these packages and files, and say so", async () => {
  await using ran = await programs(SCRIPTS);
  const env = { IBVERBS_CACHE: `${ran.folder}/cache` };
  const { stdout, stderr } = await runScript(SCRIPT, { env });
  const calls = ran.calls().filter((call) => !/^apt-cache show|^dpkg-deb|--print-uris/.test(call));
  const shown = [stdout, stderr, ...new Set(calls), ""].join("\n")
    .replace(/-o \S+=\S+ |\/tmp\/ibverbs-module-\w+/g, "")
    .replaceAll(ran.folder, "");
  const file = new URL("set_up.txt", import.meta.url);
  if (Deno.env.get("IBVERBS_PRINT") === "1") await Deno.writeTextFile(file, shown);
  assertEquals(shown, await Deno.readTextFile(file));
});

// What is compiled on this host: C helpers of the tests, and the kernel module of the stub HCA.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { buildModules, STUB_SOURCES } from "../../stub/build.ts";
import { exists } from "../../host/shell.ts";
import { compileC } from "../../../tests/c/compile.ts";

Deno.test("compileC() keeps results of different architectures apart", async () => {
  const path = await compileC("ah_from_wc.c", ["-libverbs"]);
  assertStringIncludes(path.slice(path.lastIndexOf("/")), Deno.build.arch);
});

// The kernel's own makefiles refuse such a path in these words.
const KBUILD = `
ifneq ($(words $(subst :, ,$(realpath $(lastword $(MAKEFILE_LIST))))), 1)
$(error source directory cannot contain spaces or colons)
endif
modules:
	test -d $(CURDIR)/scripts
	echo built >$(M)/stub_hca.ko
`;

const FOLDER = new URL("../../stub_hca/", import.meta.url);
const MAKEFILE = new URL("Makefile", FOLDER);

Deno.test("STUB_SOURCES has all sources of the stub HCA", () => {
  const names = [...Deno.readDirSync(FOLDER)].map(({ name }) => name);
  assertEquals(STUB_SOURCES.toSorted(), names.filter((name) => !name.endsWith(".md")).sort());
});

for (const name of ["plain", "with a space", "with:colon"]) {
  Deno.test(`buildModules() builds in a folder named "${name}"`, async () => {
    const parent = await Deno.makeTempDir();
    const folder = `${parent}/${name}`;
    try {
      const headers = `${folder}/usr/src/linux-headers-6.1.0-1-amd64`;
      await Deno.mkdir(headers, { recursive: true });
      await Deno.writeTextFile(`${headers}/Makefile`, KBUILD);
      await Deno.mkdir(`${folder}/usr/lib`);
      await Deno.symlink("../../lib", `${headers}/scripts`);
      const makefile = await Deno.readFile(MAKEFILE);
      const { makeTempDir } = Deno;
      let made = "";
      Deno.makeTempDir = async (options) => made = await makeTempDir(options);
      await buildModules([["Kbuild", new Uint8Array()], ["Makefile", makefile]], headers, folder)
        .finally(() => Deno.makeTempDir = makeTempDir);
      assertEquals([made.includes("rxe-module-"), exists(made)], [true, false]);
      assertEquals(await Deno.readTextFile(`${folder}/stub_hca.ko`), "built\n");
    } finally {
      await Deno.remove(parent, { recursive: true });
    }
  });
}

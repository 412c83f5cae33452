// What importing the library costs: modules only, nothing of the system.

import { assert, assertEquals } from "@std/assert";
import { outputOf } from "../subprocess.ts";

/** Deno takes 0.2 ms a module. The published package has its modules in bundles: tools/package.ts. */
const MOST_MODULES = 180;

interface Info {
  readonly roots: readonly string[];
  readonly modules: readonly {
    readonly specifier: string;
    readonly dependencies?: readonly { readonly code?: { readonly specifier: string } }[];
  }[];
}

/** The modules that run when one is imported; those that only give types do not. */
async function modulesOf(path: string): Promise<Set<string>> {
  const args = ["info", "--json", "--no-config", path];
  const { stdout } = await new Deno.Command(Deno.execPath(), { args }).output();
  const { roots, modules }: Info = JSON.parse(new TextDecoder().decode(stdout));
  const found = new Set(roots);
  for (const specifier of found) {
    const module = modules.find((candidate) => candidate.specifier === specifier);
    for (const { code } of module?.dependencies ?? []) if (code) found.add(code.specifier);
  }
  return found;
}

const MODULE = new URL("../../mod.ts", import.meta.url);

Deno.test("mod.ts runs few modules when it is imported, and none that only gives types", async () => {
  const modules = await modulesOf(MODULE.pathname);
  assert(modules.has(new URL("ffi/layout.ts", MODULE).href));
  assert(!modules.has(new URL("ffi/handles.ts", MODULE).href));
  assert(modules.size <= MOST_MODULES, `it runs ${modules.size} modules`);
});

Deno.test("mod.ts opens no library, file or resource when it is imported", async () => {
  const script = `
    const libraries = () => Deno.readTextFileSync("/proc/self/maps").split("\\n")
      .map((line) => line.split(" ").at(-1)).filter((path) => /\\.so/.test(path) || /memfd/.test(path));
    const descriptors = () => [...Deno.readDirSync("/proc/self/fd")].length;
    const opened = [];
    const { dlopen } = Deno;
    Deno.dlopen = (...args) => (opened.push(args[0]), dlopen(...args));
    await import("data:text/javascript,");
    const [libraryCount, descriptorCount] = [new Set(libraries()).size, descriptors()];
    const { listDevices } = await import(MOD);
    console.log(opened.length, new Set(libraries()).size - libraryCount, descriptors() - descriptorCount);
    listDevices();
    console.log(opened.includes("libibverbs.so.1"), new Set(libraries()).size > libraryCount);`;
  assertEquals(await outputOf(script), "0 0 0\ntrue true");
});

/**
 * Writes the declarations of the package, a file for each exported module beside its bundle. All that they share stands
 * once, in one more file: a class with private members fits itself only. It is a program: tools/package/build.ts starts it
 * with the package's folder, the folder of the bundles in it, and the exported modules.
 */

import { dirname, join } from "node:path/posix";
import { isolatedDeclarationSync } from "npm:oxc-transform@0.140.0";
import { type Plugin, rollup } from "npm:rollup@4.52.5";
import { dts } from "npm:rollup-plugin-dts@6.2.3";

/** What begins a module: the registry shows that of an exported one as its page. */
const MODULE_COMMENT = /\/\*\*(?:(?!\*\/)[^])*@module\n \*\/\n/;

const SHARED = "types.d.ts";

/**
 * Makes the declarations of each source. Exported symbols have their types written out, which publishing demands, so that
 * no source needs another. The compiler of TypeScript takes 5 s for that, and makes properties of some methods.
 */
const sources: Plugin = {
  name: "sources",
  resolveId(name, importer): string | false {
    if (importer === undefined) return name;
    return name.startsWith(".") ? declared(join(dirname(importer), name)) : false;
  },
  async load(id): Promise<string> {
    const source = id.replace(/\.d\.ts$/, ".ts");
    const text = (await Deno.readTextFile(source)).replace(MODULE_COMMENT, "");
    return isolatedDeclarationSync(source, text).code;
  },
};

function declared(source: string): string {
  return source.replace(/\.ts$/, ".d.ts");
}

/** The comment of an exported module. */
async function commentOf(id: string | null): Promise<string> {
  const text = id === null ? "" : await Deno.readTextFile(id.replace(/\.d\.ts$/, ".ts"));
  return MODULE_COMMENT.exec(text)?.[0].trimEnd() ?? "";
}

/** Names of files as Deno wants them: those that exist. */
const exactNames: Plugin = {
  name: "exact names",
  renderChunk: (code) => code.replaceAll(/(?<= from '\.[^']*)\.js(?=';)/g, ".d.ts"),
};

const [folder = "", bundles = "", ...exported] = Deno.args;
const input = Object.fromEntries(
  exported.map((source) => [join(source).replace(/\.ts$/, ""), declared(join(folder, source))]),
);
const entries = new Set(Object.values(input));
const onLog = (_level: string, { message }: { message: string }): never => {
  throw new Error(message);
};
const bundle = await rollup({ input, onLog, plugins: [sources, dts(), exactNames] });
await bundle.write({
  dir: join(folder, bundles),
  banner: ({ facadeModuleId }) => commentOf(facadeModuleId),
  entryFileNames: "[name].d.ts",
  chunkFileNames: SHARED,
  manualChunks: (id) => entries.has(id) ? undefined : SHARED,
  minifyInternalExports: false,
});

/** Builds the packages that are published. */

import { readdir } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path/posix";
import denoJson from "../../deno.json" with { type: "json" };
import { copyFiles, inProject, LOCK, projectFiles } from "../host/paths.ts";
import { capture, exists, lastLines, SetupError } from "../host/setup.ts";
import { fold } from "./fold.ts";
import { filesOf, type Package, PACKAGES, specifiers } from "./packages.ts";
import { shrinkMap } from "./source_map.ts";

/**
 * Measured from the start of the process, in CPU time over a Deno that imports nothing: the modules of mod.ts take 33 ms,
 * a bundle by "deno bundle" 10.1 ms, one without white space 9.1 ms. Shorter names would save another 0.5 ms; then
 * classes have wrong names in messages.
 */
const BUNDLER = "npm:esbuild@0.25.9";

/** A program of this folder: in a process of its own, whose packages are pinned as those of the bundler are. */
const DECLARATIONS = inProject("tools/package/declarations.ts");

/** The folder of the bundles, and of their declarations, in the package. */
const BUNDLES = "dist";

/** Is replaced by a line that says where the types are. Without it all places in stack traces would be a line off. */
const FIRST_LINE = "//";

/** The folder of the modules that the bundler starts from. It is gone when the package is built. */
const ENTRIES = "entries";

/**
 * Builds the packages in a folder, which is emptied first: the sources, and a bundle of each exported module with its
 * declarations. The bundles of the library share what they have in common, so that a class is the same one in all of
 * them. What a package imports of another one stays an import.
 */
export async function buildPackages(folder: string): Promise<void> {
  if (exists(folder)) await Deno.remove(folder, { recursive: true });
  const known = await projectFiles();
  const all = PACKAGES.map((one) => ({ one, files: filesOf(one, known) }));
  await copyFiles(all.flatMap(({ files }) => files), folder);
  await pack(all.at(-1)!.files, folder);
  for (const { one, files } of all) {
    const pages = files.filter((file) => file.endsWith(".md") || file === `${one.folder}mod.ts`);
    for (const file of pages) await edit(`${folder}/${file}`, (text) => leadOut(text, file, files));
  }
  await bundle(folder);
  for (const { one } of all) await describe(one, `${folder}/${one.folder}`);
}

/** Links to what the package does not have, and those of pages of the registry, lead to the repository. */
export function leadOut(text: string, file: string, files: readonly string[]): string {
  return text.replaceAll(/\]\((?![a-z]+:|#)([^)\s#]+)/g, (link, target: string) => {
    const path = join(dirname(file), target);
    const isHere = file.endsWith(".md") && files.some((name) => `${name}/`.startsWith(path));
    const view = path.endsWith(".svg") ? "raw" : "blob";
    return isHere ? link : `](${denoJson.repository}/${view}/main/${path}`;
  });
}

/** Puts the files of the guest that are no modules into one that is. */
async function pack(files: readonly string[], folder: string): Promise<void> {
  const packed = files.filter((file) => /^rxe\/.*(\/Kbuild|\/Makefile|\.sh|\.[ch])$/.test(file));
  const texts = await Promise.all(packed.map(async (file) => {
    return [file.replace("rxe/", ""), await Deno.readTextFile(`${folder}/${file}`)] as const;
  }));
  const value = JSON.stringify(Object.fromEntries(texts), null, 2);
  await edit(`${folder}/rxe/files.ts`, (text) => text.replace(/\{\}(?=;)/, () => value));
}

async function bundle(folder: string): Promise<void> {
  const changed = await foldSources(folder);
  for (const one of PACKAGES) {
    const sources = Object.values(one.exports);
    const isLibrary = one.folder === "";
    const base = join(folder, one.folder, isLibrary ? ENTRIES : "");
    if (isLibrary) { for (const source of sources) await writeEntry(source, folder); }
    const bundles = join(folder, one.folder, BUNDLES);
    await runBundler(sources, base, bundles);
    for (const name of await readdir(bundles, { recursive: true })) {
      if (name.endsWith(".js")) await finish(`${bundles}/${name}`);
    }
  }
  await copyFiles(changed, folder);
  await Deno.remove(`${folder}/${ENTRIES}`, { recursive: true });
}

/** Other runtimes, which use what needs no device or say that it needs Deno, may not know the newest syntax. */
const FOR_OTHERS = ["--supported:using=false"];

/** Bundles modules, which have their paths from a base, into a folder. */
async function runBundler(
  sources: readonly string[],
  base: string,
  bundles: string,
): Promise<void> {
  const names = Object.entries(specifiers()).map(([name, at]) => `--alias:${name}=${at}`);
  await runTool(
    ...[BUNDLER, "--bundle", "--format=esm", "--target=esnext", "--minify-whitespace"],
    ...["--sourcemap=external", "--sources-content=false", "--log-level=warning"],
    ...["--external:node:*", "--external:jsr:*", `--banner:js=${FIRST_LINE}`, ...names],
    ...["--splitting", ...FOR_OTHERS],
    ...[`--outbase=${base}`, `--outdir=${bundles}`],
    ...sources.map((source) => join(base, source)),
  );
}

async function runTool(...words: readonly string[]): Promise<void> {
  const options = ["run", "--allow-all", "--no-config", ...LOCK];
  const { status, stderr } = await capture(Deno.execPath(), ...options, ...words);
  if (status !== 0) throw new SetupError(`Cannot bundle: ${lastLines(stderr, 8)}`);
}

/**
 * Names the source map of a bundle, a file of its own: Deno copies a bundle twice to cut off a map within it, which took 2 of
 * 11 ms of an import. The function that nobody calls puts the map into the module graph: Deno reads a map from its cache alone.
 */
async function finish(bundle: string): Promise<void> {
  const map = shrinkMap(await Deno.readTextFile(`${bundle}.map`));
  await Deno.remove(`${bundle}.map`);
  await edit(bundle, nameClasses);
  if (map === undefined) return;
  const file = bundle.replace(/js$/, "map.json");
  const name = basename(file);
  await Deno.writeTextFile(file, map);
  const graph = `()=>import("./${name}",{with:{type:"json"}});`;
  await edit(bundle, (text) => `${text}${graph}\n//# sourceMappingURL=${name}\n`);
}

/**
 * Writes the module that the bundler starts from for an exported one. Each of them needs all of mod.ts, so that the bundler
 * puts all of that into one file: every file takes time when a program starts. Of 7 files and one, it was 3 of 20 ms.
 */
async function writeEntry(source: string, folder: string): Promise<void> {
  const path = join(folder, ENTRIES, source);
  const to = (file: string): string => JSON.stringify(relative(dirname(path), join(folder, file)));
  await Deno.mkdir(dirname(path), { recursive: true });
  await Deno.writeTextFile(path, `import ${to("mod.ts")};\nexport * from ${to(source)};\n`);
}

/** Folds the sources. Returns the files that it changed. */
async function foldSources(folder: string): Promise<string[]> {
  const changed: string[] = [];
  for (const file of await readdir(folder, { recursive: true })) {
    if (!/^(cli|ffi|types)\/.*\.ts$/.test(file)) continue;
    await edit(`${folder}/${file}`, (text) => {
      const folded = fold(text);
      if (folded !== text) changed.push(file);
      return folded;
    });
  }
  return changed;
}

/**
 * Gives classes their names back: the bundler calls a class that refers to itself `_Name`, and messages show that. The
 * text keeps its length, and source maps stay right.
 */
export function nameClasses(text: string): string {
  const names = Array.from(text.matchAll(/= ?class _(\w+)/g), ([, name]) => name!);
  if (names.length === 0) return text;
  return text.replaceAll(new RegExp(`\\b_(${names.join("|")})\\b`, "g"), "$1 ");
}

async function edit(path: string, change: (text: string) => string): Promise<void> {
  await Deno.writeTextFile(path, change(await Deno.readTextFile(path)));
}

/**
 * Writes the declarations of a package's bundles, says where they are, and exports the bundles. Programs that are checked
 * fetch these few files, and no source.
 */
async function describe({ exports, config }: Package, folder: string): Promise<void> {
  await runTool(DECLARATIONS, folder, BUNDLES, ...Object.values(exports));
  const bundles: Record<string, string> = {};
  for (const [name, source] of Object.entries(exports)) {
    const path = `${BUNDLES}/${join(source).replace(/\.ts$/, "")}`;
    const types = `${FIRST_LINE} @ts-self-types="./${basename(path)}.d.ts"`;
    await edit(`${folder}/${path}.js`, (text) => text.replace(FIRST_LINE, types));
    bundles[name] = `./${path}.js`;
  }
  const { tasks: _tasks, publish: _publish, ...rest } = config;
  await Deno.writeTextFile(
    `${folder}/deno.json`,
    `${JSON.stringify({ ...rest, exports: bundles }, null, 2)}\n`,
  );
}

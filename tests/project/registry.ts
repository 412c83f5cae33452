// A registry of packages on this host, in the form of JSR. It has the package that "deno task package" builds, so that
// commands with "jsr:@rdma/ibverbs" run as they are written. JSR_URL makes Deno use it.

import { readdir } from "node:fs/promises";
import denoJson from "../../deno.json" with { type: "json" };
import { stdArguments } from "../../tools/host/jsr.ts";
import { inProject } from "../../tools/host/paths.ts";
import { buildPackage } from "../../tools/package/build.ts";

const JSR = "https://jsr.io";
const TYPES: Readonly<Record<string, string>> = { js: "text/javascript", ts: "text/typescript" };
const ADAPTERS = inProject("tools/std");

/** A package: its exports, and its files by their paths in it. */
interface Package {
  readonly version: string;
  readonly exports: Readonly<Record<string, string>>;
  readonly files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

/** A registry that runs. */
export interface Registry extends AsyncDisposable {
  readonly url: string;
  /** The files of the package that were fetched, by their paths in it, in that order. */
  readonly fetched: string[];
}

/** Starts the registry, with the package that stands in a folder or else is built. */
export async function startRegistry(folder?: string): Promise<Registry> {
  const own = folder === undefined ? await builtPackage() : await packageIn(folder);
  const packages = new Map([[denoJson.name, own]]);
  const fetched: string[] = [];
  if ((await stdArguments()).length > 0) {
    for (const [name, specifier] of Object.entries(denoJson.imports)) {
      packages.set(name, adapterOf(name, specifier));
    }
  }
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  const server = Deno.serve(options, ({ url }) => {
    const { pathname } = new URL(url);
    const file = pathname.replace(`/${denoJson.name}/${own.version}`, "");
    if (own.files.has(file)) fetched.push(file);
    return answer(packages, pathname);
  });
  return {
    fetched,
    url: `http://127.0.0.1:${server.addr.port}/`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

async function answer(packages: ReadonlyMap<string, Package>, path: string): Promise<Response> {
  const [, name = "", rest = ""] = /^\/(@\w+\/\w+)\/(.*)$/.exec(path) ?? [];
  const found = packages.get(name);
  if (found === undefined) return await forward(path);
  const { version, exports, files } = found;
  if (rest === "meta.json") {
    const [scope, short] = name.slice(1).split("/");
    return Response.json({ scope, name: short, latest: version, versions: { [version]: {} } });
  }
  if (rest === `${version}_meta.json`) {
    return Response.json({ exports, manifest: await manifestOf(files) });
  }
  const file = files.get(rest.replace(version, ""));
  if (file === undefined) return new Response("not found", { status: 404 });
  const type = TYPES[path.replace(/.*\./, "")] ?? "text/plain";
  return new Response(file, { headers: { "content-type": type } });
}

/** Packages of others, where JSR can be reached. The body is no longer compressed: not all headers hold. */
async function forward(path: string): Promise<Response> {
  const { status, headers, body } = await fetch(`${JSR}${path}`);
  const type = headers.get("content-type") ?? "text/plain";
  return new Response(body, { status, headers: { "content-type": type } });
}

async function manifestOf(files: Package["files"]): Promise<Record<string, unknown>> {
  const entries = await Promise.all(Array.from(files, async ([path, bytes]) => {
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    return [path, { size: bytes.length, checksum: `sha256-${hash.toHex()}` }] as const;
  }));
  return Object.fromEntries(entries);
}

async function builtPackage(): Promise<Package> {
  const folder = await Deno.makeTempDir({ prefix: "package-" });
  try {
    await buildPackage(folder);
    return await packageIn(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The package as it was built. Its imports name the registry. */
async function packageIn(folder: string): Promise<Package> {
  const { exports, version } = JSON.parse(await Deno.readTextFile(`${folder}/deno.json`));
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const name of await readdir(folder, { recursive: true })) {
    const path = `${folder}/${name}`;
    if ((await Deno.stat(path)).isDirectory) continue;
    const bytes = await Deno.readFile(path);
    files.set(`/${name}`, name.endsWith(".ts") ? unfurled(bytes) : bytes);
  }
  return { version, exports, files };
}

/** As publishing does it: JSR knows no import maps, and no package by its own name. */
function unfurled(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  let text = new TextDecoder().decode(bytes);
  const { imports, name, version } = denoJson;
  const itself = [name, `jsr:${name}@^${version}`] as const;
  for (const [name, specifier] of [itself, ...Object.entries(imports)]) {
    text = text.replaceAll(`"${name}/`, `"${specifier}/`).replaceAll(`"${name}"`, `"${specifier}"`);
  }
  return new TextEncoder().encode(text);
}

function adapterOf(name: string, specifier: string): Package {
  const map: { imports: Record<string, string> } = JSON.parse(
    Deno.readTextFileSync(`${ADAPTERS}/import_map.json`),
  );
  const exports = Object.entries(map.imports).filter(([key]) => key.startsWith(name))
    .map(([key, path]) => [key.replace(name, "."), path]);
  const files = [...Deno.readDirSync(ADAPTERS)].map(({ name }) =>
    [`/${name}`, Deno.readFileSync(`${ADAPTERS}/${name}`)] as const
  );
  const version = specifier.replace(/.*\^/, "");
  return { version, exports: Object.fromEntries(exports), files: new Map(files) };
}

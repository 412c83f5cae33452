/**
 * A registry of packages on this host, in the form of JSR, which JSR_URL makes Deno use. It has the packages that
 * "deno task package" builds, so that commands with "jsr:@rdma/ibverbs" run as they are written. Where JSR cannot be
 * reached, it has the adapters of tools/std in place of @std.
 */

import { readdir } from "node:fs/promises";
import denoJson from "../../deno.json" with { type: "json" };
import { stdArguments } from "../host/jsr.ts";
import { inProject, sourcesIn } from "../host/paths.ts";
import { buildPackages } from "./build.ts";
import { PACKAGES, specifiers } from "./packages.ts";

const JSR = "https://jsr.io";
const TYPES: Readonly<Record<string, string>> = { js: "text/javascript", ts: "text/typescript" };

/** A package: its exports, and its files by their paths in it. */
export interface Served {
  readonly version: string;
  readonly exports: Readonly<Record<string, string>>;
  readonly files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

/** A registry that runs. */
export interface Registry extends AsyncDisposable {
  readonly url: string;
  /** The files of the packages that were fetched, as `@rdma/cli/dist/mod.js`, in that order. */
  readonly fetched: string[];
  /** The bytes of the files that were fetched. */
  bytes: number;
}

/** Starts the registry, with the packages that stand in a folder or else are built. */
export async function startRegistry(folder?: string): Promise<Registry> {
  return await serve(folder === undefined ? await builtPackages() : await packagesIn(folder));
}

/** Starts the registry with some packages, and @std. */
export async function serve(packages: Map<string, Served> = new Map()): Promise<Registry> {
  const own = new Set(packages.keys());
  if ((await stdArguments()).length > 0) {
    for (const [name, specifier] of Object.entries(denoJson.imports)) {
      packages.set(name, adapterOf(name, specifier));
    }
  }
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  const server = Deno.serve(options, ({ url }) => {
    const { pathname } = new URL(url);
    const [, name = "", file = ""] = FILE.exec(pathname) ?? [];
    const bytes = packages.get(name)?.files.get(file);
    if (bytes !== undefined && own.has(name)) {
      registry.fetched.push(name + file);
      registry.bytes += bytes.length;
    }
    return answer(packages, pathname);
  });
  const registry: Registry = {
    fetched: [],
    bytes: 0,
    url: `http://127.0.0.1:${server.addr.port}/`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
  return registry;
}

/** The path of a file: its package, its version, its path in it. */
const FILE = /^\/(@\w+\/\w+)\/[\d.]+(\/.*)$/;

async function answer(packages: ReadonlyMap<string, Served>, path: string): Promise<Response> {
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

async function manifestOf(files: Served["files"]): Promise<Record<string, unknown>> {
  const entries = await Promise.all(Array.from(files, async ([path, bytes]) => {
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    return [path, { size: bytes.length, checksum: `sha256-${hash.toHex()}` }] as const;
  }));
  return Object.fromEntries(entries);
}

async function builtPackages(): Promise<Map<string, Served>> {
  const folder = await Deno.makeTempDir({ prefix: "package-" });
  try {
    await buildPackages(folder);
    return await packagesIn(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The packages as they were built. Their imports name the registry. */
async function packagesIn(folder: string): Promise<Map<string, Served>> {
  const members = PACKAGES.map((one) => one.folder).filter((path) => path !== "");
  const packages = PACKAGES.map(async (one) => {
    const root = `${folder}/${one.folder}`;
    const { exports, version } = JSON.parse(await Deno.readTextFile(`${root}deno.json`));
    const files = new Map<string, Uint8Array<ArrayBuffer>>();
    for (const name of await readdir(root, { recursive: true })) {
      if (one.folder === "" && members.some((member) => name.startsWith(member))) continue;
      if ((await Deno.stat(root + name)).isDirectory) continue;
      const bytes = await Deno.readFile(root + name);
      files.set(`/${name}`, name.endsWith(".ts") ? unfurled(bytes) : bytes);
    }
    return [one.name, { version, exports, files }] as const;
  });
  return new Map(await Promise.all(packages));
}

/** As publishing does it: JSR knows no import maps, and no package by its own name. */
function unfurled(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  let text = new TextDecoder().decode(bytes);
  for (const [name, specifier] of Object.entries(specifiers())) {
    text = text.replaceAll(`"${name}/`, `"${specifier}/`).replaceAll(`"${name}"`, `"${specifier}"`);
  }
  return new TextEncoder().encode(text);
}

function adapterOf(name: string, specifier: string): Served {
  const map: { imports: Record<string, string> } = JSON.parse(
    Deno.readTextFileSync(inProject("tools/std/import_map.json")),
  );
  const exports = Object.entries(map.imports).filter(([key]) => key.startsWith(name))
    .map(([key, path]) => [key.replace(name, "."), path]);
  const files = sourcesIn("tools/std").map((path) =>
    [path.replace("tools/std", ""), Deno.readFileSync(inProject(path))] as const
  );
  const version = specifier.replace(/.*\^/, "");
  return { version, exports: Object.fromEntries(exports), files: new Map(files) };
}

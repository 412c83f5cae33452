/** The packages of the workspace. */

import denoJson from "../../deno.json" with { type: "json" };
import cliJson from "../../cli/deno.json" with { type: "json" };
import rxeJson from "../../rxe/deno.json" with { type: "json" };

/** A package: its folder with a slash at the end, none for the root, and what its deno.json says. */
export interface Package {
  readonly folder: string;
  readonly name: string;
  readonly version: string;
  /** The sources of its modules, by the names under which it exports them. */
  readonly exports: Readonly<Record<string, string>>;
  readonly config: Readonly<Record<string, unknown>>;
  /** What is not published, from its folder. */
  readonly left: readonly string[];
}

function packageOf(folder: string, config: typeof denoJson | typeof cliJson): Package {
  const { name, version, exports, publish } = config;
  return {
    ...{ folder, name, version, config, left: publish.exclude },
    exports: typeof exports === "string" ? { ".": exports } : exports,
  };
}

/** All of them, the library first. */
export const PACKAGES: readonly Package[] = [
  packageOf("", denoJson),
  packageOf("cli/", cliJson),
  packageOf("rxe/", rxeJson),
];

/** The files among those of the project that a package publishes. */
export function filesOf({ folder, left }: Package, files: readonly string[]): string[] {
  // Deno leaves the members of a workspace out of its root by itself.
  const members = folder === "" ? PACKAGES.map((one) => one.folder).filter((path) => path) : [];
  const patterns = [...left, ...members, ".gitignore", "deno.json"].map((path) =>
    new RegExp(`^${folder}${RegExp.escape(path).replaceAll("\\*", "[^/]*")}`)
  );
  return files.filter((file) =>
    file.startsWith(folder) && !patterns.some((pattern) => pattern.test(file))
  );
}

/** The sources of its exported modules, from the project's folder. */
export function sourcesOf({ folder, exports }: Package): string[] {
  return Object.values(exports).map((source) => folder + source.replace("./", ""));
}

/** Where the registry has what the packages import: a bundle names it so. */
export function specifiers(): Record<string, string> {
  const own = PACKAGES.map(({ name, version }) => [name, `jsr:${name}@^${version}`]);
  return { ...denoJson.imports, ...Object.fromEntries(own) };
}

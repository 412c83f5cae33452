/** Other Denos than the one that runs the tools: from npm, which checks their hashes. They run tests. */

import { cached, demand, exists, say } from "./setup.ts";
import { add, countCases, type Counts, failedCases, NONE } from "../tests/junit.ts";
import { inProject, out, project } from "./paths.ts";

/** A wait that never ends fails. Other runs take a minute or two where nothing else runs. */
const SECONDS = 1800;

/** A Deno: the words that run it, a name for its files, arguments for `deno test`, its PATH, and other variables. */
export interface OtherDeno {
  readonly command: readonly string[];
  readonly name: string;
  readonly options: readonly string[];
  readonly path: string;
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Runs tests. A run that does not end well although no test failed counts as a failed test.
 *
 * @param excused Tests that may fail, with the reason: they count as left out.
 */
export async function runTests(
  { command, name, options, path, env }: OtherDeno,
  files: readonly string[],
  excused: Readonly<Record<string, string>> = {},
): Promise<Counts> {
  const report = `${out}/junit-${name}.xml`;
  await Deno.mkdir(out, { recursive: true });
  if (exists(report)) await Deno.remove(report);
  const deno = [...command, "test", "--no-check", "--allow-all", "--v8-flags=--expose-gc"];
  const { code } = await new Deno.Command("timeout", {
    args: ["--kill-after=5", `${SECONDS}`, ...deno, ...options, `--junit-path=${report}`, ...files],
    cwd: project,
    // Deno keeps machine code beside the modules.
    env: { ...env, PATH: path, DENO_DIR: inProject(`.cache/${name}`) },
    stdin: "null",
  }).spawn().status;
  const xml = exists(report) ? await Deno.readTextFile(report) : "";
  const counts = countCases(xml);
  const left = failedCases(xml).filter((test) => Object.hasOwn(excused, test));
  for (const test of left) say(`left out: "${test}": ${excused[test]}`);
  const judged = add(counts, { passed: 0, failed: -left.length, ignored: left.length });
  if (code === 0 || counts.failed > 0) return judged;
  say(`error: deno test ended with status ${code}`);
  return add(judged, { ...NONE, failed: 1 });
}

/** Deno as npm has it for an architecture. */
function packageFor(arch: typeof Deno.build.arch): string {
  return `@deno/linux-${arch === "x86_64" ? "x64" : "arm64"}-glibc`;
}

/** The number of a version, or of the one that a name such as `latest` means now. */
export async function versionOf(name: string): Promise<string> {
  if (/^\d/.test(name)) return name;
  const of = `${packageFor(Deno.build.arch)}@${name}`;
  return (await demand("npm", "view", "--silent", of, "version")).trim();
}

/** The path of a version of Deno. */
export async function fetchDeno(version: string, arch = Deno.build.arch): Promise<string> {
  const folder = await cached(`deno-${version}-${arch}`, async (folder) => {
    const name = `${packageFor(arch)}@${version}`;
    const packed = await demand("npm", "pack", "--silent", "--pack-destination", folder, name);
    const file = `${folder}/${packed.trim()}`;
    await demand("tar", "-xzf", file, "-C", folder);
    await Deno.remove(file);
  });
  return `${folder}/package/deno`;
}

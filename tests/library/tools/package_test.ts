// The packages as they are published: bundles to run, their declarations, and the sources for stack traces.

// What it opens must not be opened within a test.
import "../../../testing.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path/posix";
import denoJson from "../../../deno.json" with { type: "json" };
import { startRegistry } from "../../../tools/package/registry.ts";
import { PACKAGES } from "../../../tools/package/packages.ts";
import { linksOf } from "../../../tools/docs/documents.ts";
import { buildPackages, leadOut } from "../../../tools/package/build.ts";

const folder = await Deno.makeTempDir();
await buildPackages(folder);
const registry = await startRegistry(folder);
globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
const config = JSON.parse(await Deno.readTextFile(`${folder}/deno.json`));

/** All exported modules of the packages: the paths of bundle and source. */
const MODULES = PACKAGES.flatMap(({ folder: at, exports }) => {
  const built = JSON.parse(Deno.readTextFileSync(`${folder}/${at}deno.json`));
  return Object.entries(exports).map(([name, source]) => {
    return { bundle: join(at, built.exports[name]), source: join(at, source) };
  });
});

/** What the test reads of the pages. */
type Symbols = readonly {
  readonly name: string;
  readonly declarations: readonly {
    readonly kind: string;
    readonly jsDoc?: { readonly doc?: string };
    readonly def?: { readonly extends?: string };
  }[];
}[];

function deno(...args: string[]): Promise<string> {
  return denoIn(folder, { JSR_URL: registry.url }, ...args);
}

async function denoIn(
  cwd: string,
  env: Record<string, string>,
  ...args: string[]
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args,
    cwd,
    env: { NO_COLOR: "1", ...env },
  }).output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`deno ${args.join(" ")} fails: ${decoder.decode(stderr)}`);
  return decoder.decode(stdout);
}

/** What a module exports, and the names that functions and classes have themselves. */
function namesOf(module: Record<string, unknown>): string[][] {
  return Object.entries(module).sort()
    .map(([key, value]) => typeof value === "function" ? [key, value.name] : [key]);
}

Deno.test("buildPackages() exports a bundle for each exported module, with the same names", async () => {
  assertEquals(Object.keys(config.exports), Object.keys(denoJson.exports));
  for (const { bundle: path, source } of MODULES) {
    const module = `import * as module from ${JSON.stringify(`./${path}`)};`;
    await Deno.writeTextFile(
      `${folder}/user.ts`,
      `${module}\nconst names = (${namesOf})(module);
      console.log(JSON.stringify(names));`,
    );
    const names = JSON.parse(await deno("run", "--no-check", "user.ts"));
    assertEquals(names, namesOf(await import(import.meta.resolve(`../../../${source}`))));
  }
});

/** Programs that are compiled only, and what each of them shows. */
const COMPILED = {
  "mistakes.ts": "catch each mistake that the types of the sources catch",
  "optional.ts": "permit undefined for what may be left out",
};

for (const [name, does] of Object.entries(COMPILED)) {
  Deno.test(`The declarations ${does}`, async () => {
    const program = await Deno.readTextFile(new URL(`../../types/${name}`, import.meta.url));
    const { name: library } = denoJson;
    await Deno.writeTextFile(
      `${folder}/user.ts`,
      program.replace("../../mod.ts", library)
        .replaceAll(/"\.\.\/\.\.\/(\w+)(\/mod)?\.ts"/g, `"${library}/$1"`),
    );
    await deno("check", "user.ts");
    await Deno.remove(`${folder}/user.ts`);
  });
}

Deno.test("Each line of the declarations that the compiler may show begins with the declaration", async () => {
  const files = (await readdir(`${folder}/dist`, { recursive: true }))
    .filter((file) => file.endsWith(".d.ts"));
  assert(files.length > 5);
  for (const file of files) {
    const lines = (await Deno.readTextFile(`${folder}/dist/${file}`)).split("\n");
    assertEquals([file, lines.filter((line) => /\*\/.*\w/.test(line))], [file, []]);
  }
});

/** Objects of one exported module go to the functions of others. */
const USER = `import { Context, type QueuePair, VerbsError } from "jsr:@rdma/ibverbs";
import type { CmId } from "jsr:@rdma/ibverbs/cm";
import { EfaCompletionQueue } from "jsr:@rdma/ibverbs/efa";
import { listenUd } from "jsr:@rdma/ibverbs/net";
export const cq = new EfaCompletionQueue(Context.open(), { cqe: 1 });
export const accept = (id: CmId, qp: QueuePair): Promise<unknown> => id.accept(qp);
export const conn = await listenUd({ qkey: 1 }).catch((error) => error instanceof VerbsError);
`;

Deno.test("deno run, cache and add fetch few files of the packages", async () => {
  const own = await Deno.makeTempDir();
  const fetchedBy = async (program: string, ...args: string[]): Promise<string[]> => {
    const cache = await Deno.makeTempDir();
    await Deno.writeTextFile(`${own}/main.ts`, program);
    registry.fetched.length = 0;
    try {
      const printed = await denoIn(own, { JSR_URL: registry.url, DENO_DIR: cache }, ...args);
      assertEquals(printed !== "", args.includes("-A"));
      return registry.fetched.toSorted();
    } finally {
      await Deno.remove(cache, { recursive: true });
    }
  };
  const open = 'import { Context } from "jsr:@rdma/ibverbs";\nexport type C = Context;\n' +
    "export const { open } = Context;\n";
  const ran = await fetchedBy(open, "run", "main.ts");
  // The module, what all modules share, and the source map of that.
  assertEquals(ran.length, 3, `${ran}`);
  const cached = await fetchedBy(open, "cache", "main.ts");
  const declarations = ["mod", "types"].map((name) => `@rdma/ibverbs/dist/${name}.d.ts`);
  assertEquals(cached, [...ran, ...declarations].sort());
  const wrong = `${open}Context.open({});`;
  await assertRejects(() => fetchedBy(wrong, "check", "main.ts"), Error, "TS2345");
  const all = await fetchedBy(USER, "check", "main.ts");
  assert(all.every((path) => path.startsWith("@rdma/ibverbs/dist/")), `${all}`);
  const programOf = (name: string): string[] =>
    ["js", "map.json"].map((end) => `@rdma/${name}/dist/mod.${end}`);
  const ofTool = (path: string): boolean => path.startsWith("@rdma/cli");
  const guest = await fetchedBy(open, "run", "-A", "jsr:@rdma/rxe", "--help");
  assertEquals(guest, programOf("rxe"));
  const tool = await fetchedBy(open, "run", "-A", "jsr:@rdma/cli", "help");
  // What other runtimes can read, what they cannot, and what both share.
  assertEquals(tool.filter(ofTool).length, 5, `${tool}`);
  assertEquals(programOf("cli").filter((path) => !tool.includes(path)), []);
  assert(tool.every((path) => path.includes("/dist/")) && tool.length <= 16, `${tool}`);
  const added = await fetchedBy(open, "add", "jsr:@rdma/ibverbs");
  assert(added.length <= 28, `${added.length}: ${added}`);
  await Deno.remove(own, { recursive: true });
});

/** A call in each bundle that has code of its own, what its stack names, and what stands there in the source. */
const PLACES = [
  ["ibverbs", 'Gid.parse("x")', "Gid.parse", "types/address/gid.ts", "parseAddress"],
  ["ibverbs/net", "listenUd({ qkey: -1 })", "listenUd", "net/ud/ud_conn.ts", "inTurn"],
  ["cli", "runCli(1)", "runCli", "cli/mod.ts", "wordsOf(args)"],
  [
    "rxe",
    "runInGuest([], { get accelerator() { throw new Error() } })",
    "runGuests",
    "rxe/guest/run.ts",
    "options.accelerator",
  ],
] as const;

Deno.test("buildPackages() gives places in the sources in stack traces", async () => {
  for (const [name, call, caller, file, expected] of PLACES) {
    const script = `import * as module from "@rdma/${name}";
      try { await module.${call} } catch (error) { console.log(error.stack) }`;
    await Deno.writeTextFile(`${folder}/user.ts`, script);
    const stack = await deno("run", "--allow-all", "--no-check", "user.ts");
    await Deno.remove(`${folder}/user.ts`);
    const source = (await Deno.readTextFile(`${folder}/${file}`)).split("\n");
    const place = new RegExp(`at (?:Module\\.)?${caller} \\(\\S*/${file}:(\\d+):\\d+\\)`).exec(
      stack,
    );
    assert(source[Number(place?.[1]) - 1]?.includes(expected), stack);
  }
});

Deno.test("buildPackages() leaves the line of a program first in stack traces", async () => {
  const script = `import { connectRc } from "@rdma/ibverbs/net";
    import { Context } from "@rdma/ibverbs";
    const depthOf = (error) =>
      error.stack.split("\\n").filter((line) => /^ +at /.test(line))
        .findIndex((line) => line.includes("user.ts"));
    const found = [];
    try { await connectRc({ tcpPort: 1 }) } catch (error) { found.push(depthOf(error)) }
    try { Context.open("none") } catch (error) { found.push(depthOf(error)) }
    console.log(JSON.stringify(found));`;
  await Deno.writeTextFile(`${folder}/user.ts`, script);
  assertEquals(await deno("run", "--allow-all", "--no-check", "user.ts"), "[1,1]\n");
  await Deno.remove(`${folder}/user.ts`);
});

Deno.test("Links of the package lead to its own files or to the repository", async () => {
  const names = await readdir(folder, { recursive: true });
  const files = names.filter((name) => /^(\w+\/)?mod\.ts$/.test(name) || name.endsWith(".md"));
  const lost = files.flatMap((file) => {
    const links = linksOf(Deno.readTextFileSync(`${folder}/${file}`)).map((link) =>
      link.split("#")[0]!
    );
    return links.filter((link) =>
      link !== "" && !names.includes(join(dirname(file), link).replace(/\/$/, ""))
    )
      .map((link) => `${file}: ${link}`);
  });
  assertEquals(lost, []);
  const link = (text: string): string => leadOut(text, "docs/a.md", ["docs/b.md", "x/y.ts"]);
  const { repository } = denoJson;
  assertEquals(link("[b](b.md#c) [x](../x/) [d](#d)"), "[b](b.md#c) [x](../x/) [d](#d)");
  assertEquals(link("[t](../tests/a.md#c)"), `[t](${repository}/blob/main/tests/a.md#c)`);
  assertEquals(link("![p](../p.svg)"), `![p](${repository}/raw/main/p.svg)`);
});

/** What Node prints of the package: each export, what needs no device, and what needs one. */
const IN_NODE = `
  const print = async (use) => {
    try {
      console.log(String(await use()));
    } catch (error) {
      console.log(error.name + ": " + error.message);
    }
  };
  const at = {};
  for (const [name, path] of Object.entries(EXPORTS)) at[name] = await import(path);
  const { Context, Gid, Grh, QpType, RxHash, formatAddress, listDevices, microsoftRssKey, parseAddress } = at["."];
  await print(() => Gid.parse("10.0.0.1"));
  await print(() => new Grh(new Uint8Array(40)).sgid);
  await print(() => QpType.UD + formatAddress(parseAddress("fd00::1")));
  const flow = { srcIp: "66.9.149.187", dstIp: "161.142.100.80" };
  await print(() => at["./rss"].toeplitz(microsoftRssKey(), at["./rss"].rssInput(flow, 3)).toString(16));
  await print(() => new RxHash({ rxHashKey: microsoftRssKey(), rxHashFieldsMask: 3 }).hash(flow).toString(16));
  for (const use of [
    () => listDevices(),
    () => Context.open(),
    () => at["./net"].listenUd({ qkey: 1 }),
    () => at["./net"].connectRc({ tcpPort: 1 }),
    () => at["./net"].listenRc(),
    () => new at["./cm"].EventChannel(),
    () => at["./ffi"].verbs().ibv_get_device_list(null),
    () => { throw new Error(at["./testing"].whyNoDevice()); },
  ]) await print(use);`;

Deno.test("The package can be imported by Node, where what needs no library works, and all else needs Deno", async () => {
  await Deno.writeTextFile(`${folder}/package.json`, JSON.stringify({ type: "module" }));
  await Deno.writeTextFile(
    `${folder}/in_node.js`,
    IN_NODE.replace("EXPORTS", JSON.stringify(config.exports)),
  );
  const { stdout, stderr } = await new Deno.Command("node", { args: ["in_node.js"], cwd: folder })
    .output();
  const lines = new TextDecoder().decode(stdout).trimEnd().split("\n");
  assertEquals(new TextDecoder().decode(stderr), "");
  assertEquals(lines.slice(0, 5), ["::ffff:10.0.0.1", "::", "4fd00::1", "323e8fc2", "323e8fc2"]);
  const needsDeno = "Error: Cannot open libibverbs: @rdma/ibverbs calls it by the FFI of Deno";
  const remedy = "Run the program with Deno: https://deno.com";
  const all = Array(7).fill(`${needsDeno}. ${remedy}`);
  assertEquals(lines.slice(5), [...all, needsDeno]);
});

Deno.test("The programs of the packages say in one line in Node that they need Deno", async () => {
  await Deno.writeTextFile(`${folder}/package.json`, JSON.stringify({ type: "module" }));
  for (
    const [name, use] of [["cli", "runCli(['gids'])"], ["rxe", "runInGuest(['true'])"]] as const
  ) {
    const path = `./${name}/dist/mod.js`;
    const print = "(status) => process.exit(status), (error) => console.error(error.message)";
    const importing = `import("${path}").then((module) => module.${use}).then(${print})`;
    for (const args of [[path], [path, "--help"], ["--eval", importing]]) {
      const { code, stdout, stderr } = await new Deno.Command("node", { args, cwd: folder })
        .output();
      const [said, printed] = [stderr, stdout].map((bytes) => new TextDecoder().decode(bytes));
      const line = `@rdma/${name} runs on Deno only: https://deno.com. Run it by`;
      assert(said!.includes(line) && said!.trimEnd().split("\n").length === 1, said);
      assertEquals([code, printed], [args.includes(path) || name === "cli" ? 1 : 0, ""]);
    }
  }
});

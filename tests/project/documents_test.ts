// The commands of the documents, as they are written: in a copy of the project, in a folder of the reader, and in the guest.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { type Place, placeOf } from "../../tools/docs/commands.ts";
import {
  allFences,
  commandsOf,
  differenceFrom,
  exampleFences,
  type Fence,
} from "../../tools/docs/fences.ts";
import { copyFiles, projectFiles } from "../../tools/host/paths.ts";
import { startRegistry } from "../../tools/package/registry.ts";

/** Only reached by what hangs; a guest may be emulated. */
const PATIENCE_MS = 300_000;

/** Stands in commands; a registry on this host takes its place. */
const JSR = "https://jsr.io/";

/** What a reader has in the folder that docs/without_hardware.md is about. */
const MAIN = `import { Context } from "@rdma/ibverbs";

export function open(): Context {
  return Context.open();
}
`;
const TEST = `import { open } from "../main.ts";

Deno.test("the device opens", () => open().close());
`;

const LIST = `import { listDevices } from "jsr:@rdma/ibverbs";
listDevices();
`;

const fences = [...allFences(), ...exampleFences()];

/** A command, and the fence that it is in. */
interface Written {
  readonly command: string;
  readonly fence: Fence;
}

function commandsAt(place: Place): Written[] {
  const all = fences.flatMap((fence) =>
    fence.kind === "commands" ? commandsOf(fence).map((command) => ({ command, fence })) : []
  );
  const first = (written: Written, i: number): boolean =>
    all.findIndex(({ command }) => command === written.command) === i;
  return all.filter(first).filter(({ command }) => placeOf(command) === place)
    .sort((a, b) => rank(a.fence) - rank(b.fence));
}

/** Readers begin with README.md. */
function rank({ document }: Fence): number {
  return document === "README.md" ? 0 : 1;
}

/** Runs a command line in a folder; returns what it printed. It must end with status 0. */
async function run(
  command: string,
  cwd: string,
  env: Record<string, string> = {},
): Promise<string> {
  const deno = Deno.execPath().replace(/\/[^/]*$/, "");
  const { code, stdout, stderr } = await new Deno.Command("sh", {
    args: ["-c", env.JSR_URL === undefined ? command : command.replaceAll(JSR, env.JSR_URL)],
    cwd,
    env: {
      NO_COLOR: "1",
      DENO_INSTALL_ROOT: cwd,
      PATH: `${deno}:${cwd}/bin:${Deno.env.get("PATH")}`,
      ...env,
    },
    stdin: "null",
    signal: AbortSignal.timeout(PATIENCE_MS),
  }).output();
  const [printed, errors] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  assertEquals(code, 0, `${command}\n${printed}${errors}`);
  return printed!;
}

/** Runs a command in a pseudo terminal and answers its questions. It must end with status 0. */
async function answered(
  command: string,
  answer: string,
  cwd: string,
  env: Record<string, string>,
): Promise<string> {
  const child = new Deno.Command("script", {
    args: ["--quiet", "--return", "--command", command, "/dev/null"],
    cwd,
    env: { NO_COLOR: "1", ...env },
    stdin: "piped",
    stdout: "piped",
    signal: AbortSignal.timeout(PATIENCE_MS),
  }).spawn();
  const keys = child.stdin.getWriter();
  let printed = "";
  // Deno drops what comes too early, and says nothing about it.
  const timer = setInterval(() => {
    if (/Allow\?[^✅]*$/.test(printed)) keys.write(new TextEncoder().encode(answer));
  }, 200);
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) printed += text;
  clearInterval(timer);
  await keys.close();
  assertEquals((await child.status).code, 0, printed);
  return printed;
}

/** A folder that is removed at the end. */
async function folder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await Deno.makeTempDir({ prefix: "documents-" });
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}

Deno.test("commands of the documents run in a copy of the project", async () => {
  await using copy = await folder();
  await copyFiles(await projectFiles(), copy.path);
  const { inGuest = [], here = [] } = Object.groupBy(
    commandsAt("project").map(({ command }) => command),
    (command) => /^deno task rxe (-- )?(--stub )?[a-z]/.test(command) ? "inGuest" : "here",
  );
  // In one guest: each start of one takes long.
  const words = inGuest.map((command) => command.replace(/^deno task rxe (-- )?(--stub )?/, ""));
  for (const command of [...here, `deno task rxe --stub sh -c '${words.join(" && ")}'`]) {
    await run(command, copy.path);
  }
});

Deno.test("commands of the documents run in a folder with the package from a registry", async () => {
  await using registry = await startRegistry();
  await using own = await folder();
  await using cache = await folder();
  const env = { JSR_URL: registry.url, DENO_DIR: cache.path };
  const [echo] = fences.filter(({ document, kind }) =>
    document === "README.md" && kind === "device"
  );
  await Deno.writeTextFile(`${own.path}/echo.ts`, echo!.text);
  const worker = fences.find(({ text }) => text.includes("self.onmessage"));
  await Deno.writeTextFile(`${own.path}/worker.ts`, worker!.text);
  await Deno.writeTextFile(`${own.path}/main.ts`, MAIN);
  await Deno.mkdir(`${own.path}/tests`);
  await Deno.writeTextFile(`${own.path}/tests/main_test.ts`, TEST);

  await Deno.writeTextFile(`${own.path}/list.ts`, LIST);
  const failure =
    "! IBVERBS_LIBRARY=/nowhere deno run --quiet --allow-ffi --allow-env list.ts 2>&1";
  const trace = await run(failure, own.path, env);
  assertMatch(trace, /at listDevices \(http:\S+\/types\/device\/device\.ts:\d+:\d+\)/);
  assertEquals(trace.split("\n").filter((line) => /\.js|.{250}/.test(line)), [], trace);

  const prompts = await answered("deno run --quiet list.ts", "y\n", own.path, env);
  assertMatch(prompts, /@rdma\/ibverbs asks for ffi: [^]*Granted ffi access\./);
  assertEquals(prompts.match(/Deno requests/g)?.length, 1, prompts);

  const guest = "deno run -A jsr:@rdma/rxe -- ";
  const commands = commandsAt("own folder");
  const runsInGuest = (command: string): boolean =>
    placeOf(command) === "guest" || /^(?!--)/.test(command.split(guest)[1] ?? "--");
  for (const { command, fence } of commands.filter(({ command }) => !runsInGuest(command))) {
    const printed = await run(command, own.path, env);
    if (fence.output) assertEquals(differenceFrom(fence.output, printed), undefined);
  }

  const programs = allFences().filter(({ kind }) => kind === "project");
  await Promise.all(programs.map(async ({ text }, i) => {
    await Deno.writeTextFile(`${own.path}/program_${i}.ts`, text);
    await run(`deno run -A program_${i}.ts`, own.path, env);
  }));

  const inGuest = [...commands, ...commandsAt("guest")].map(({ command }) => command)
    .filter(runsInGuest);
  // Host and guest have what they need in the cache.
  await registry[Symbol.asyncDispose]();
  assertStringIncludes(await run("ibverbs help", own.path, env), "doctor");
  const mark = "== next command";
  const line = inGuest.map((command) => `${command.replace(guest, "")} && echo "${mark}"`)
    .join(" && ");
  // A guest that shares compiled code with programs of the host crashes when they change it.
  await Deno.stat(`${cache.path}/v8_code_cache_v2`);
  const shared = 'ls "$DENO_DIR" | grep v8_code_cache && exit 1\n';
  await Deno.writeTextFile(
    `${own.path}/commands.sh`,
    `${shared}${line.replaceAll(JSR, registry.url)}`,
  );
  const printed = await run(`${guest}sh commands.sh`, own.path, env);
  const parts = printed.split(`${mark}\n`);
  for (const [i, command] of inGuest.entries()) {
    if (command.endsWith("echo.ts")) {
      assertEquals(differenceFrom(echo!.output!, parts[i]!), undefined);
    }
    if (command.endsWith("deno test -A")) assertStringIncludes(parts[i]!, "1 passed");
    const outputs = fences.filter((fence) => commandsOf(fence).at(-1) === command)
      .flatMap(({ output }) => output ?? []);
    // Comments of the library have no marks.
    const marks = outputs.find(({ marks }) => marks.varies)?.marks ?? {};
    for (const output of outputs) {
      assertEquals(differenceFrom({ ...output, marks }, parts[i]!), undefined);
    }
  }
});

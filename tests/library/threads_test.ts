// Threads whose buffers are freed before the process ends: all kinds of Workers, and no program.
import { assertEquals } from "@std/assert";
import { recorderPath } from "../provider/compile.ts";
import { runDeno } from "../subprocess.ts";

const url = (path: string): string => JSON.stringify(import.meta.resolve(`../../${path}`));

/** What a thread says of itself, and of memory: its own kinds of buffers, and memory that belongs to the region. */
const PROBE = `
  const { keepsBuffers } = await import(${url("ffi/threads.ts")});
  const { AccessFlags, Context, MemoryRegion, ProtectionDomain } = await import(${url("mod.ts")});
  const context = Context.open("recorder0");
  const pd = new ProtectionDomain(context);
  const sources = [new ArrayBuffer(64), new SharedArrayBuffer(64), new Uint8Array(64), 64];
  const said = sources.map((source) => {
    try {
      new MemoryRegion(pd, source, AccessFlags.LOCAL_WRITE);
      return "registers";
    } catch (error) {
      return error.name + (error.message.includes("in a Worker") ? "" : ": " + error.message);
    }
  });
  context.close();
  const answer = [keepsBuffers(), ...said].join();`;

const REFUSES = "false,TypeError,TypeError,TypeError,registers";
const ACCEPTS = "true,registers,registers,registers,registers";

/** How a Worker of a kind is made, given its source: an expression that is a promise of what it says. */
const WORKERS: Readonly<Record<string, (source: string) => string>> = {
  "a Worker of Deno": (source) =>
    `new Promise((resolve, reject) => {
    const text = ${JSON.stringify(`${source}; self.postMessage(answer);`)};
    const worker = new Worker("data:text/javascript," + encodeURIComponent(text), { type: "module" });
    worker.onmessage = ({ data }) => (worker.terminate(), resolve(data));
    worker.onerror = ({ message }) => reject(new Error(message));
  })`,
  "a Worker of Deno without the name of its scope": (source) =>
    WORKERS["a Worker of Deno"]!(`delete globalThis.WorkerGlobalScope; ${source}`),
  "a Worker of node:worker_threads from a file": (source) =>
    `(async () => {
    const file = await Deno.makeTempFile({ suffix: ".mjs" });
    await Deno.writeTextFile(file, ${JSON.stringify(nodeModule(source))});
    return await said(file).finally(() => Deno.remove(file));
  })()`,
  "a Worker of node:worker_threads from a URL": (source) =>
    `said(new URL("data:text/javascript," + encodeURIComponent(${
      JSON.stringify(nodeModule(source))
    })))`,
  "a Worker of node:worker_threads from a text": (source) => {
    const text =
      `(async () => { ${source}; require("node:worker_threads").parentPort.postMessage(answer); })()`;
    return `said(${JSON.stringify(text)}, { eval: true })`;
  },
};

function nodeModule(source: string): string {
  return `import { parentPort } from "node:worker_threads"; ${source}; parentPort.postMessage(answer);`;
}

/** Starts a Worker of Node. */
const SAID = `
  const said = async (source, options = {}) => {
    const { Worker } = await import("node:worker_threads");
    const worker = new Worker(source, options);
    const answer = await new Promise((resolve, reject) => worker.on("message", resolve).on("error", reject));
    await worker.terminate();
    return answer;
  };`;

/** A source that starts a Worker of each kind, one after the other, and says what they say. */
const NESTED = `${SAID} const answer = [${
  Object.values(WORKERS).map((inner) => `await ${inner(PROBE)}`).join()
}].join(" ");`;

/** Runs a module by a command of Deno, and gives its answer. */
async function answerOf(source: string, command: readonly string[] = ["run"]): Promise<string> {
  const folder = await Deno.makeTempDir();
  try {
    const [file, answer] = [`${folder}/probe.mjs`, `${folder}/answer`];
    const text = `${source} Deno.writeTextFileSync(${JSON.stringify(answer)}, answer);
      Deno.test("nothing", () => {});
      Deno.bench("nothing", () => {});`;
    await Deno.writeTextFile(file, text);
    const args = [...command, "--no-check", "--no-config", "--allow-all", file];
    await runDeno(args, { env: { IBVERBS_LIBRARY: await recorderPath() } });
    return await Deno.readTextFile(answer);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

for (const [name, worker] of Object.entries(WORKERS)) {
  Deno.test(`In ${name} regions take no buffer`, async () => {
    assertEquals(await answerOf(`${SAID} const answer = await ${worker(PROBE)};`), REFUSES);
  });
}

for (const [outer, start] of Object.entries(WORKERS)) {
  Deno.test(`In Workers of each kind that ${outer} starts regions take no buffer`, async () => {
    const answer = await answerOf(`${SAID} const answer = await ${start(NESTED)};`);
    assertEquals(answer.split(" "), Object.keys(WORKERS).map(() => REFUSES));
  });
}

for (const command of [["run"], ["test"], ["bench"], ["test", "--parallel"]]) {
  Deno.test(`In a program of deno ${command.join(" ")} regions take buffers`, async () => {
    assertEquals(await answerOf(PROBE, command), ACCEPTS);
  });
}

/** What leaves in doubt what a thread is that is not the first one. */
const DOUBTS = [
  "delete globalThis.process;",
  "process.getBuiltinModule = () => ({});",
  "process.chdir = () => {};",
  "process.chdir = () => { throw new Error('not now'); };",
];

for (const doubt of DOUBTS) {
  Deno.test(`In doubt regions take no buffer: ${doubt}`, async () => {
    assertEquals(await answerOf(doubt + PROBE, ["test"]), REFUSES);
  });
}

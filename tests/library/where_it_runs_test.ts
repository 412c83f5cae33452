// The ways in which programs are run, as docs/where_it_runs.md lists them, each with the recorder as its libibverbs.
import { assertEquals, assertStringIncludes } from "@std/assert";
import { dirname } from "node:path/posix";
import { recorderPath } from "../provider/compile.ts";
import { runDeno, type ScriptResult } from "../subprocess.ts";

const IBVERBS_LIBRARY = await recorderPath();
const ROOT = import.meta.resolve("../../").replace(/\/$/, "");
const MAIN = `
  import { listDevices } from "${ROOT}/mod.ts";
  import { listenUd } from "${ROOT}/net/mod.ts";
  await using conn = await listenUd({ device: listDevices()[0].name, qkey: 1 });
  await conn.send(new Uint8Array(1), conn.addr);
  console.log("sent", conn.stats.sent);`;

/** Runs Deno beside files of a program. Commands that look for the configuration of a project find none but theirs. */
async function inFolder(
  files: Readonly<Record<string, string>>,
  run: (folder: string, deno: (...args: string[]) => Promise<ScriptResult>) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    for (const [name, text] of Object.entries({ "deno.json": "{}", ...files })) {
      await Deno.mkdir(dirname(`${folder}/${name}`), { recursive: true });
      await Deno.writeTextFile(`${folder}/${name}`, text);
    }
    await run(folder, (...args) => runDeno(args, { env: { IBVERBS_LIBRARY } }));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function assertSent({ stdout, stderr, code }: ScriptResult): void {
  assertEquals([code, stdout.trim().split("\n").at(-1)], [0, "sent 1"], stderr);
}

Deno.test("deno run", () =>
  inFolder({ "main.ts": MAIN }, async (folder, deno) => {
    assertSent(await deno("run", "-A", "--no-check", `${folder}/main.ts`));
  }));

Deno.test("deno eval", () =>
  inFolder({}, async (folder, deno) => {
    assertSent(await deno("eval", `--config=${folder}/deno.json`, "--ext=ts", MAIN));
  }));

Deno.test("deno bundle: the bundle runs alone", () =>
  inFolder({ "main.ts": MAIN }, async (folder, deno) => {
    const { code, stderr } = await deno(
      "bundle",
      `--output=${folder}/main.js`,
      `${folder}/main.ts`,
    );
    assertEquals(code, 0, stderr);
    assertSent(await deno("run", "-A", "--no-config", `${folder}/main.js`));
  }));

Deno.test("deno task, in a member of a workspace", () =>
  inFolder({
    "deno.json": JSON.stringify({ workspace: ["./member"] }),
    "member/deno.json": JSON.stringify({ tasks: { start: "deno run -A --no-check main.ts" } }),
    "member/main.ts": MAIN,
  }, async (folder, deno) => {
    assertSent(await deno("task", `--cwd=${folder}/member`, "start"));
  }));

Deno.test("deno bench", () =>
  inFolder({
    "main_bench.ts": `
      import { listDevices } from "${ROOT}/mod.ts";
      Deno.bench({ name: "list", n: 1, warmup: 0, fn: () => void listDevices() });`,
  }, async (folder, deno) => {
    const { code, stdout, stderr } = await deno(
      "bench",
      "-A",
      "--no-check",
      `${folder}/main_bench.ts`,
    );
    assertEquals(code, 0, stderr);
    assertStringIncludes(stdout, "list");
  }));

Deno.test("deno serve ends cleanly on SIGTERM", () =>
  inFolder({
    "main.ts": `
      import { listenUd } from "${ROOT}/net/mod.ts";
      const conn = await listenUd({ device: "recorder0", qkey: 1 });
      Deno.addSignalListener("SIGTERM", async () => {
        await conn[Symbol.asyncDispose]();
        console.log("closed");
        Deno.exit(0);
      });
      setTimeout(() => fetch("http://127.0.0.1:" + Deno.env.get("PORT")).then(async (response) => {
        console.log("asked", await response.text());
        Deno.kill(Deno.pid, "SIGTERM");
      }), 100);
      export default { fetch: () => new Response(conn.addr.transport) };`,
  }, async (folder) => {
    using free = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = free.addr;
    free.close();
    const { code, stdout, stderr } = await runDeno(
      ["serve", "-A", "--no-check", "--host=127.0.0.1", `--port=${port}`, `${folder}/main.ts`],
      { env: { IBVERBS_LIBRARY, PORT: String(port) } },
    );
    assertEquals([code, stdout.trim().split("\n")], [0, ["asked UD", "closed"]], stderr);
  }));

Deno.test("a Worker has devices and connections of its own", () =>
  inFolder({
    "main.ts": `
      const worker = new Worker(import.meta.resolve("./worker.ts"), { type: "module" });
      worker.onmessage = ({ data }) => {
        console.log("sent", data);
        worker.terminate();
      };`,
    "worker.ts": MAIN.replace(
      'console.log("sent", conn.stats.sent);',
      "self.postMessage(conn.stats.sent);",
    ),
  }, async (folder, deno) => {
    assertSent(await deno("run", "-A", "--no-check", `${folder}/main.ts`));
  }));

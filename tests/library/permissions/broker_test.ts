// Programs with a permission broker, which Deno asks in place of looking at flags: queries tell only of the flags.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { recorderPath } from "../../provider/compile.ts";
import { runDeno, SANITIZERS, type ScriptResult, stdOptions } from "../../subprocess.ts";
import { Broker, type Decide } from "./broker.ts";

const ROOT = new URL("../../../", import.meta.url);
const NAMES = [`--config=${new URL("deno.json", ROOT).pathname}`, ...stdOptions()];
const FLAGS = [[], ["--allow-all"], ["--allow-ffi", "--allow-env"], ["--deny-ffi"]];

/** Runs a module of the project, or one that is given as text, with a broker. */
async function run(
  decide: Decide | undefined,
  flags: readonly string[],
  [file, ...args]: readonly string[],
): Promise<ScriptResult & { readonly asked: readonly string[] }> {
  await using broker = new Broker(decide);
  const options = ["--quiet", "--no-check", ...NAMES, ...flags];
  const env = { IBVERBS_LIBRARY: await recorderPath(), ...broker.env };
  const result = await runDeno(["run", ...options, file!, ...args], { env });
  return { ...result, asked: broker.asked };
}

async function runText(
  decide: Decide | undefined,
  flags: readonly string[],
  text: string,
): Promise<ReturnType<typeof run>> {
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  await Deno.writeTextFile(file, text.replaceAll("ROOT/", ROOT.href));
  try {
    return await run(decide, flags, [file]);
  } finally {
    await Deno.remove(file);
  }
}

/** Uses the library in the program and in two Workers, which load the same machine code. */
const USE = `
  import { Context } from "ROOT/mod.ts";
  import { listenUd } from "ROOT/net/mod.ts";
  import { whyNoDevice } from "ROOT/testing.ts";
  const send = async () => {
    using conn = await listenUd({ device: "recorder0", qkey: 1 });
    await conn.send(new Uint8Array(4), conn.addr);
    conn.close();
    return "sent";
  };
  const source = \`import { Context } from "ROOT/mod.ts";
    Context.open("recorder0").close();
    postMessage("opened");\`;
  const inWorker = () =>
    new Promise((resolve) => {
      const worker = new Worker("data:text/javascript," + encodeURIComponent(source), { type: "module" });
      worker.onmessage = ({ data }) => (worker.terminate(), resolve(data));
      worker.onerror = ({ message }) => resolve(message);
    });
  console.log(whyNoDevice() ?? "a device", await send(), await inWorker(), await inWorker());`;

for (const flags of FLAGS) {
  const title = `flags: ${flags.join(" ") || "none"}`;

  Deno.test(`With a broker that allows all the library works, ${title}`, async () => {
    const { stdout, stderr, asked } = await runText(undefined, flags, USE);
    assertEquals(stdout.trim(), "a device sent opened opened", stderr);
    assert(asked.includes("ffi all"));
    assert(asked.includes("env IBVERBS_LIBRARY"));
  });

  for (const reason of ["not today", ""]) {
    Deno.test(`A broker that denies ffi is named with its reason "${reason}", ${title}`, async () => {
      const decide: Decide = (asked) => asked.startsWith("ffi ") ? reason : undefined;
      const { stdout } = await runText(
        decide,
        flags,
        `
        import { listDevices } from "ROOT/mod.ts";
        import { whyNoDevice } from "ROOT/testing.ts";
        let said;
        try {
          listDevices();
        } catch (error) {
          said = error.name + ": " + error.message;
        }
        console.log(whyNoDevice() + "; " + said);`,
      );
      const [why, said] = stdout.trim().split("; ");
      // Without a reason, and without a flag, Deno says of a broker what it says without one.
      const isNamed = reason !== "" || flags.some((flag) => flag.startsWith("--allow-"));
      const words = `the permission broker denies it${reason && `: ${reason}`}`;
      assertEquals(why, isNamed ? `it needs ffi, and ${words}` : "it needs --allow-ffi");
      const start = "NotCapable: Requires ffi access to all libraries";
      if (isNamed) assertEquals(said, `${start}, and ${words}`);
      else assertStringIncludes(said!, start);
    });
  }
}

Deno.test("With a broker that allows all a test that uses verbs passes the sanitizers", async () => {
  const file = await Deno.makeTempFile({ suffix: "_test.ts" });
  await Deno.writeTextFile(
    file,
    `
    import { Context } from "${ROOT.href}mod.ts";
    import { whyNoDevice } from "${ROOT.href}testing.ts";
    const reason = whyNoDevice();
    Deno.test({ name: "device", ignore: reason !== undefined, fn: () => Context.open("recorder0").close() });`,
  );
  await using broker = new Broker();
  const env = { IBVERBS_LIBRARY: await recorderPath(), ...broker.env };
  const args = ["test", "--quiet", "--no-check", ...NAMES, ...SANITIZERS, file];
  const { stdout, stderr } = await runDeno(args, { env }).finally(() => Deno.remove(file));
  assertStringIncludes(stdout, "1 passed", stdout + stderr);
});

Deno.test("A broker that denies a library is named, and not that the library is missing", async () => {
  const decide: Decide = (asked) => /ibverbs|objects/.test(asked) ? "no RDMA" : undefined;
  const { stderr, code } = await runText(
    decide,
    [],
    `import { listDevices } from "ROOT/mod.ts"; listDevices();`,
  );
  assertEquals(code, 1);
  assertStringIncludes(stderr, "Cannot open libibverbs: access is refused, tried:");
  assertStringIncludes(stderr, ": no RDMA");
  assertEquals(stderr.includes("Install"), false, stderr);
});

Deno.test("A broker that denies the variables leaves the library of the system", async () => {
  const decide: Decide = (asked) => asked.startsWith("env ") ? "no variables" : undefined;
  for (const flags of FLAGS) {
    const { stdout, stderr } = await runText(
      decide,
      flags,
      `import { listDevices } from "ROOT/mod.ts";
        console.log(listDevices().some(({ name }) => name === "recorder0"));`,
    );
    assertEquals(stdout.trim(), "false", stderr);
  }
});

const CLI = new URL("cli/mod.ts", ROOT).pathname;

Deno.test("With a broker explain reads the file that is named, or says that the broker denies it", async () => {
  const file = await Deno.makeTempFile({ prefix: "capture" });
  await Deno.writeTextFile(file, "no capture");
  try {
    const allowed = await run(undefined, [], [CLI, "explain", file]);
    assertEquals(
      [allowed.code, allowed.stderr.includes("--allow-read")],
      [1, false],
      allowed.stderr,
    );
    assertStringIncludes(allowed.stderr, "no capture");
    for (const name of [file, `${file}.pcap`]) {
      const denied = await run(() => "not this file", [], [CLI, "explain", name]);
      assertStringIncludes(denied.stderr, "not this file");
      assertEquals(denied.stderr.includes("--allow-read"), false, denied.stderr);
    }
  } finally {
    await Deno.remove(file);
  }
});

Deno.test("With a broker doctor says that Deno opens it no files of the kernel, whatever flags allow", async () => {
  for (const flags of FLAGS) {
    const { code, stderr } = await run(undefined, flags, [CLI, "doctor"]);
    assertEquals(code, 3);
    assertStringIncludes(stderr, "and to none with a permission broker");
  }
});

Deno.test("With a broker other commands leave out what files of the kernel tell", async () => {
  for (const flags of FLAGS) {
    for (const command of ["devices", "devinfo", "gids"]) {
      const { code, stdout, stderr } = await run(undefined, flags, [CLI, command]);
      assertEquals([command, code], [command, 0], stderr);
      assertStringIncludes(stdout, "recorder0");
    }
  }
});

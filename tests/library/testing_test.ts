// Programs of users, tested with the sanitizers of `deno test` on, as Deno 2.7 has them by default.
import { assertEquals, assertStringIncludes } from "@std/assert";
import { whyNoDevice } from "../../testing.ts";
import { recorderPath } from "../provider/compile.ts";
import { runDeno, SANITIZERS, type ScriptResult } from "../subprocess.ts";

const HEAD = `
  import { AccessFlags, AddressHandle, CompletionQueue, Context, Gid, MemoryRegion, ProtectionDomain, QpType, QueuePair }
    from "MOD/mod.ts";
  import { listenUd } from "MOD/net/mod.ts";
  import { EventChannel } from "MOD/cm.ts";
  const open = () => Context.open("recorder0");`;

/** What users test, each in a test of its own. */
const TESTS = `
  Deno.test("address", () => void Gid.parse("10.0.0.1"));
  Deno.test("device", () => open().close());
  Deno.test("memory", () => {
    using context = open();
    new MemoryRegion(new ProtectionDomain(context), 4096, AccessFlags.LOCAL_WRITE);
  });
  Deno.test("queue pair", () => {
    using context = open();
    const cq = new CompletionQueue(context, { cqe: 4 });
    const cap = { maxSendWr: 1, maxRecvWr: 1 };
    new QueuePair(new ProtectionDomain(context), { type: QpType.UD, sendCq: cq, recvCq: cq, cap })
      .activateUd({ portNum: 1, qkey: 1 });
    cq.waitSync({ timeout: 0 });
  });
  Deno.test("waits", async () => {
    using context = open();
    const cq = new CompletionQueue(context, { cqe: 4 });
    await cq.completions({ signal: AbortSignal.abort() }).next().catch(() => {});
    await context.events({ signal: AbortSignal.timeout(1) }).next().catch(() => {});
  });
  Deno.test("another thread", async () => {
    using context = open();
    using _ah = await AddressHandle.createAsync(new ProtectionDomain(context), { portNum: 1, dlid: 1 });
  });
  Deno.test("net", async () => {
    using conn = await listenUd({ device: "recorder0", qkey: 1 });
    await conn.send(new Uint8Array(4), conn.addr);
  });
  Deno.test("cm", () => {
    try {
      new EventChannel().close();
    } catch {
      // There is no librdmacm, or no device behind it.
    }
  });`;

/** Runs `deno test` on a file of a user. */
async function test(text: string, flags: readonly string[]): Promise<ScriptResult> {
  const file = await Deno.makeTempFile({ suffix: "_test.ts" });
  try {
    const root = import.meta.resolve("../../").replace(/\/$/, "");
    await Deno.writeTextFile(file, text.replaceAll("MOD", root));
    const args = ["test", "--quiet", "--no-check", "--no-config", "--no-prompt", ...SANITIZERS];
    return await runDeno([...args, ...flags, file], {
      env: { IBVERBS_LIBRARY: await recorderPath() },
    });
  } finally {
    await Deno.remove(file);
  }
}

Deno.test("Each test that is the first to use verbs passes the sanitizers, with testing.ts", async () => {
  const names = [...TESTS.matchAll(/Deno\.test\("(.*?)"/g)].map(([, name]) => name!);
  for (const name of names) {
    const text = `import "MOD/testing.ts";${HEAD}${TESTS}`;
    const { code, stdout, stderr } = await test(text, ["--allow-all", `--filter=/^${name}$/`]);
    assertEquals([name, code], [name, 0], stdout + stderr);
    assertStringIncludes(stdout, "1 passed");
  }
});

Deno.test("Without testing.ts the first test that uses verbs fails the sanitizer", async () => {
  const { code, stdout } = await test(HEAD + TESTS, ["--allow-all", "--filter=/^device$/"]);
  assertEquals(code, 1);
  assertStringIncludes(stdout, "A dynamic library was loaded during the test");
});

Deno.test("testing.ts throws nothing and asks for nothing where there is no permission", async () => {
  const text = `
    import { whyNoDevice } from "MOD/testing.ts";
    const reason = whyNoDevice();
    Deno.test({ name: "a device: " + reason, ignore: reason !== undefined, fn: () => {} });`;
  for (
    const [flags, reason] of [
      [[], "it needs --allow-ffi"],
      [["--deny-ffi"], "it needs --allow-ffi"],
      [["--allow-ffi"], undefined],
    ] as const
  ) {
    const { code, stdout } = await test(text, ["--allow-env", ...flags]);
    assertEquals([flags, code], [flags, 0]);
    assertStringIncludes(
      stdout,
      `a device: ${reason} ... ${reason === undefined ? "ok" : "ignored"}`,
    );
  }
});

Deno.test("whyNoDevice() names the device that is not there, in a line", () => {
  const reason = whyNoDevice("no_such_device");
  assertStringIncludes(reason!, 'there is no device "no_such_device"');
  assertEquals(reason!.includes("\n"), false);
});

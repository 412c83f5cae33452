// Programs of users, tested with the sanitizers of `deno test` on, as Deno 2.7 has them by default.
import { assertEquals, assertStringIncludes } from "@std/assert";
import { whyNoDevice } from "../../testing.ts";
import { recorderPath } from "../provider/compile.ts";
import { outputOf, runDeno, SANITIZERS, type ScriptResult, stdOptions } from "../subprocess.ts";

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
    new QueuePair(new ProtectionDomain(context), { qpType: QpType.UD, sendCq: cq, recvCq: cq, cap })
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

Deno.test("whyNoDevice() gives the reason in a few words, for the name of a test", async () => {
  assertEquals(whyNoDevice("no_such_device"), 'there is no device "no_such_device"');
  assertEquals(whyNoDevice("x".repeat(99))!.length, 70);
  const root = new URL("../../", import.meta.url);
  const why =
    `const { whyNoDevice } = await import("${root}testing.ts"); console.log(whyNoDevice());`;
  const down = `import * as recorder from "${root}tests/provider/recorder.ts";
    recorder.answer("ibv_query_port", { state: 1 });`;
  assertEquals(
    await outputOf(`${down}\n${why}`),
    "no device with an active port can be opened",
  );
  const env = { IBVERBS_LIBRARY: "/nowhere/libibverbs.so.1" };
  assertEquals(await outputOf(why, { env }), "Cannot open libibverbs");
});

/** What tests leave open, and what is said of it: what each object is, and the number of its line. */
const LEFT: Readonly<Record<string, readonly [body: string, said: readonly string[]]>> = {
  "a context and all that was made from it": [
    `const context = Context.open("recorder0"); // 0
     new CompletionQueue(context, { cqe: 4 });
     new MemoryRegion(new ProtectionDomain(context), 4096, AccessFlags.LOCAL_WRITE);`,
    [`0 Context { device: "recorder0" }`],
  ],
  "a region, a queue and a handle of a shared device": [
    `await MemoryRegion.createAsync(sharedPd, 4096, AccessFlags.LOCAL_WRITE); // 0
     new CompletionQueue(shared, { cqe: 4 }); // 1
     await AddressHandle.createAsync(sharedPd, { portNum: 1, dlid: 1 }); // 2
     using context = open();
     new ProtectionDomain(context);`,
    ["0 MemoryRegion {", "1 CompletionQueue {", "2 AddressHandle {"],
  ],
  "a datagram socket that waits": [
    `const conn = await listenUd({ device: "recorder0", qkey: 1 }); // 0
     await conn.send(new Uint8Array(4), conn.addr);
     conn.receive().catch(() => {});
     await pause(5);`,
    ["0 UdConn"],
  ],
  "a datagram socket that has waited": [
    `const conn = await listenUd({ device: "recorder0", qkey: 1 }); // 0
     const signal = AbortSignal.abort();
     await conn.receive({ signal }).catch(() => {});
     await pause(5);`,
    ["0 UdConn"],
  ],
  "a listener": [
    `const listener = await listenRc({ device: "recorder0" }); // 0
     listener.accept();`,
    ["0 RcListener"],
  ],
  "connections": [
    `const addresses = [Promise.withResolvers(), Promise.withResolvers()];
     const connect = (own, other) => connectRc({ device: "recorder0", exchange: (address) => { // 0
       own.resolve(address);
       return other.promise;
     } });
     const [one, other] = await Promise.all([connect(...addresses), connect(...addresses.toReversed())]);
     await other.close();`,
    ["0 RcConn"],
  ],
  "iterations that wait": [
    `const context = Context.open("recorder0"); // 0
     new CompletionQueue(context, { cqe: 4 }).completions().next().catch(() => {});
     context.events().next().catch(() => {});
     await pause(5);`,
    [`0 Context { device: "recorder0" }`],
  ],
  nothing: [
    `await using conn = await listenUd({ device: "recorder0", qkey: 1 });
     using listener = await listenRc({ device: "recorder0" });
     await conn.send(new Uint8Array(4), conn.addr);
     path.toAddress({ portNum: 1, isGlobal: true, grh: { dgid: Gid.parse("10.0.0.1"), sgidIndex: 0 } });
     new CompletionQueue(shared, { cqe: 4 }).close();
     using context = open();
     new ProtectionDomain(context);`,
    [],
  ],
};

const SHARED = `
  import * as recorder from "MOD/tests/provider/recorder.ts";
  import { checkLeaks } from "MOD/testing.ts";
  import { ReplyPath } from "MOD/mod.ts";
  import { connectRc, listenRc } from "MOD/net/mod.ts";
  recorder.reset();
  recorder.connect();
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const shared = open();
  const sharedPd = new ProtectionDomain(shared);
  const path = new ReplyPath(sharedPd, { portNum: 1 });`;

/** Ways to use the check in each test. */
const CHECKS = {
  using: { hooks: "", begin: "await using _leaks = checkLeaks();" },
  hooks: {
    hooks: `
      let leaks;
      Deno.test.beforeEach(() => { leaks = checkLeaks(); });
      Deno.test.afterEach(() => leaks[Symbol.asyncDispose]());`,
    begin: "",
  },
} as const;

for (const [way, { hooks, begin }] of Object.entries(CHECKS)) {
  for (const [name, [body, said]] of Object.entries(LEFT)) {
    Deno.test(`checkLeaks() by ${way} names what a test leaves open, and closes it: ${name}`, async () => {
      const text = `${HEAD}${SHARED}${hooks}
        Deno.test("first", async () => {
          ${begin}
          ${body}
        });
        Deno.test("a later one", () => pause(20));`;
      const { stdout, stderr } = await test(text, ["--allow-all", ...stdOptions()]);
      const lines = text.split("\n");
      const lineOf = (mark: string): number =>
        lines.findIndex((line) => line.endsWith(`// ${mark}`)) + 1;
      const found = [...stdout.matchAll(/^ {2}(.*), made at .*_test\.ts:(\d+):\d+$/gm)];
      assertEquals(found.length, said.length, stdout + stderr);
      for (const [i, [, what, line]] of found.entries()) {
        const [mark, ...words] = said[i]!.split(" ");
        assertStringIncludes(what!, words.join(" "));
        assertEquals(Number(line), lineOf(mark!), what);
      }
      assertEquals(stdout.includes("Leaks detected"), false, stdout);
      assertStringIncludes(
        stdout,
        said.length === 0 ? "2 passed | 0 failed" : "1 passed | 1 failed",
      );
    });
  }
}

Deno.test("checkLeaks() needs no permission, and blames no test for what an earlier one has begun", async () => {
  const text = `${HEAD}
    import { checkLeaks } from "MOD/testing.ts";
    const late = Promise.withResolvers();
    let made;
    Deno.test("none", async () => {
      await using _leaks = checkLeaks();
    });
    Deno.test({ name: "begins", sanitizeOps: false, sanitizeResources: false, fn: async () => {
      await using _leaks = checkLeaks();
      made = MemoryRegion.createAsync(new ProtectionDomain(open()), 4096, 1).catch(() => {});
    } });
    Deno.test({ name: "goes on", sanitizeOps: false, sanitizeResources: false, fn: async () => {
      await using _leaks = checkLeaks();
      await made;
    } });`;
  const none = await test(text, ["--filter=none"]);
  assertStringIncludes(none.stdout, "1 passed | 0 failed", none.stdout);
  const { stdout } = await test(text, ["--allow-all"]);
  assertStringIncludes(stdout, "begins ... FAILED");
  assertStringIncludes(stdout, "goes on ... ok");
});

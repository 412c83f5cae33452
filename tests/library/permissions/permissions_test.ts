// The permissions that each part needs, as SECURITY.md lists them: it runs with these, asks for no other, and says which
// one is missing without one of them. The recorder takes the place of libibverbs, so no device is needed.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { recorderPath } from "../../provider/compile.ts";
import { type Audited, audited, auditedText, type AuditOptions, kindsOf } from "./audited.ts";

const ROOT = new URL("../../../", import.meta.url);
const RECORDER = await recorderPath();
const LIBRARY = ["--allow-env=IBVERBS_LIBRARY"];
const env = { IBVERBS_LIBRARY: RECORDER };

/** The documented permissions of each part. */
const TABLE = tableOf(await Deno.readTextFile(new URL("SECURITY.md", ROOT)));

function tableOf(text: string): Map<string, readonly string[]> {
  const section = text.split("## Permissions of Deno")[1]!.split("\n## ")[0]!;
  const rows = [...section.matchAll(/^\| (.*?) +\| (.*?) +\|$/gm)].slice(2);
  return new Map(
    rows.map((
      [, part, flags],
    ) => [
      part!.replaceAll("`", ""),
      [...flags!.matchAll(/`(--allow-[^`]*)`/g)].map(([, flag]) => flag!),
    ]),
  );
}

const cli = (...args: string[]): readonly string[] => ["cli/mod.ts", ...args];

/** A program for each row: a module as text, or a file with arguments. */
const PARTS: Readonly<Record<string, string | readonly string[]>> = {
  "importing any module": `
    import "mod.ts"; import "rss.ts"; import "cm.ts"; import "testing.ts"; import "ffi/mod.ts"; import "net/mod.ts"; import "cli/mod.ts"; import "rxe/mod.ts";`,
  "addresses, GRHs, hashes": `
    import { formatAddress, Gid, Grh, microsoftRssKey, parseAddress, RxHash } from "mod.ts";
    import { toeplitz } from "rss.ts";
    new Grh(new Uint8Array(40)).sgid.toString();
    toeplitz(microsoftRssKey(), Gid.parse("10.0.0.1").bytes);
    new RxHash({ rxHashKey: microsoftRssKey(), rxHashFieldsMask: 3 })
      .hash({ srcIp: "10.0.0.1", dstIp: formatAddress(parseAddress("10.0.0.2")) });`,
  "devices and all objects of a device": `
    import { AccessFlags, AddressHandle, CompletionQueue, Context, listDevices, MemoryRegion, ProtectionDomain,
      QpType, QueuePair } from "mod.ts";
    listDevices();
    using context = Context.open("recorder0");
    const pd = new ProtectionDomain(context);
    const cq = new CompletionQueue(context, { cqe: 4 });
    const mr = new MemoryRegion(pd, 4096, AccessFlags.LOCAL_WRITE);
    const cap = { maxSendWr: 1, maxRecvWr: 1 };
    const qp = new QueuePair(pd, { qpType: QpType.UD, sendCq: cq, recvCq: cq, cap });
    qp.activateUd({ portNum: 1, qkey: 1 });
    qp.postRecv({ wrId: 1, sge: mr.sge(0, 100) });
    using ah = await AddressHandle.createAsync(pd, { portNum: 1, dlid: 1 });
    await context.events({ signal: AbortSignal.timeout(1) }).next().catch(() => {});
    await cq.completions({ signal: AbortSignal.timeout(1) }).next().catch(() => {});`,
  "net: listenUd(), and connectRc() with exchange": `
    import { connectRc, listenUd } from "net/mod.ts";
    using conn = await listenUd({ device: "recorder0", qkey: 1 });
    await conn.send(new Uint8Array(1), conn.addr);
    const exchange = (address) => Promise.resolve(address);
    await connectRc({ device: "recorder0", exchange, connectTimeout: 50 }).catch((error) => {
      if (!(error instanceof Deno.errors.TimedOut)) throw error;
    });`,
  "net: listenRc(), and connectRc() with tcpPort": `
    import { connectRc, listenRc } from "net/mod.ts";
    await using listener = await listenRc({ device: "recorder0", connectTimeout: 100 });
    const tcpPort = listener.addr.port;
    await connectRc({ device: "recorder0", tcpPort, connectTimeout: 100 }).catch((error) => {
      if (!(error instanceof Deno.errors.TimedOut)) throw error;
    });`,
  "net: listenRc() and connectRc() with port": `
    import { connectRc, listenRc } from "net/mod.ts";
    const ways = [() => listenRc({ port: 0 }), () => connectRc({ hostname: "10.0.0.1", port: 5 })];
    for (const connect of ways) {
      await connect().catch((error) => {
        if (error instanceof Deno.errors.NotCapable) throw error;
      });
    }`,
  "cm: connections by address, addresses": `
    import { EventChannel, getAddrInfo } from "cm.ts";
    for (const use of [() => new EventChannel().close(), () => getAddrInfo("127.0.0.1", 7471)]) {
      try {
        await use();
      } catch (error) {
        if (error instanceof Deno.errors.NotCapable) throw error;
      }
    }`,
  "efa: Elastic Fabric Adapters": `
    import { queryEfaDevice } from "efa.ts";
    import { Context } from "mod.ts";
    using context = Context.open("recorder0");
    try {
      queryEfaDevice(context);
    } catch (error) {
      if (error instanceof Deno.errors.NotCapable) throw error;
    }`,
  "ffi: verbs as in C": `
    import { verbs } from "ffi/mod.ts";
    verbs().ibv_free_device_list(verbs().ibv_get_device_list(null));`,
  "testing: whyNoDevice()": `
    import { whyNoDevice } from "testing.ts";
    const reason = whyNoDevice();
    if (reason !== undefined) throw new Deno.errors.NotCapable(reason);`,
  "cli explain": cli("explain", "00".repeat(20) + "45" + "00".repeat(19)),
  "cli devices, devinfo, gids, watch": cli("gids"),
  "cli rping, udaddy": `
    import { runCli } from "cli/mod.ts";
    for (const command of ["rping", "udaddy"]) {
      // They end with an error here in any case: librdmacm needs a kernel.
      const status = await runCli([command]);
      const { state } = await Deno.permissions.query({ name: "ffi" });
      if (state !== "granted") Deno.exit(status);
    }`,
  "cli pingpong, perf": cli("pingpong", "rc", "-d", "recorder0", "-g", "1", "--warm-up=0"),
  "cli perf --svg=FILE": [],
};

/** The parts that go on until they are ended, or until a peer comes. */
const ENDLESS = new Set(["cli pingpong, perf"]);

function run(part: string, permissions: readonly string[]): Promise<Audited> {
  const program = PARTS[part]!;
  const options: AuditOptions = {
    env,
    ...ENDLESS.has(part) && { until: (TABLE.get(part) ?? []).map(kindOf) },
  };
  return typeof program === "string"
    ? auditedText(permissions, program, options)
    : audited(permissions, program, options);
}

function kindOf(flag: string): string {
  return flag.replace(/^--allow-|=.*/g, "");
}

/** Deno's message, or that of the command-line tool. */
const MISSING = /NotCapable|Requires \w+ access/;

function assertAskedOnly({ asked, output }: Audited, flags: readonly string[]): void {
  // The variable that names the recorder is an exception of the tests.
  const needed = [...asked].filter((one) => one !== "env IBVERBS_LIBRARY");
  assertEquals([...kindsOf(needed)].sort(), flags.map(kindOf).sort(), output);
}

Deno.test("SECURITY.md lists the permissions of each part that is tested, and of no other", () => {
  const special = ["cli doctor", "each example", "rxe, and the tools of this project"];
  assertEquals([...TABLE.keys()].sort(), [...Object.keys(PARTS), ...special].sort());
});

Deno.test("cli doctor: says that it needs all permissions", async () => {
  const { code, output } = await audited(["--allow-ffi"], cli("doctor"), { env });
  assert(code !== 0);
  assertMatch(output, /only to programs with all permissions \(-A\)/);
});

for (const [part, program] of Object.entries(PARTS)) {
  const flags = TABLE.get(part) ?? [];
  if (program.length === 0) continue;

  Deno.test(`${part}: runs with the permissions of SECURITY.md and asks for no other`, async () => {
    const found = await run(part, [...flags, ...LIBRARY]);
    assert(found.code === (ENDLESS.has(part) ? undefined : 0), found.output);
    assertAskedOnly(found, flags);
  });

  for (const missing of flags) {
    Deno.test(`${part}: says that ${missing} is missing`, async () => {
      const found = await run(part, [...flags.filter((flag) => flag !== missing), ...LIBRARY]);
      assertEquals(found.code, 1, found.output);
      assertMatch(found.output, MISSING);
    });
  }
}

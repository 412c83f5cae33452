// What connections do in an `unload` listener that runs after that of the library, which has closed their devices.
import { assertEquals } from "@std/assert";
import { outputOf, runDeno, stdOptions } from "../../subprocess.ts";

const url = (path: string): string =>
  JSON.stringify(new URL(`../../../${path}`, import.meta.url).href);

const COMMON = `import * as recorder from ${url("tests/provider/recorder.ts")};
  import { LinkLayer } from MOD;
  import { connectRc, listenRc, listenUd } from ${url("net/mod.ts")};
  import { FakeBed } from ${url("tests/library/cm/fake.ts")};
  const device = "recorder0";
  const bed = new FakeBed();
  bed.connect("IPv4");
  const message = Uint8Array.of(7);
  const conn = await listenUd({ device, qkey: 7 });
  await conn.send(message, conn.addr);
  await conn.receive();
  const byTcp = await listenRc({ device });
  const byAddress = await listenRc({ port: 7471 });
  const to = [{ device, tcpPort: byTcp.addr.port }, { hostname: "host", port: 7471 }];
  const accepted = Promise.all([byTcp.accept(), byAddress.accept()]);
  const conns = [...await Promise.all(to.map((one) => connectRc(one))), ...await accepted];
  const valuesOf = () => JSON.stringify([
    [conn.stats, conn.addr, conn.gidIndex, conn.gidReason, conn.maxMessage],
    [byTcp, byAddress].map(({ addr, stats }) => [addr, stats]),
    conns.map(({ peer, maxMessage }) => [peer, maxMessage]),
  ]);
  const before = valuesOf();`;

const ENDS: Readonly<Record<string, string>> = {
  "give their last values": `console.log(conn.stats.sent, valuesOf() === before);`,
  "can be closed": `for (const one of [conn, byTcp, byAddress, ...conns]) one[Symbol.dispose]();
    console.log(conn.stats.sent, valuesOf() === before);`,
  "refuse calls": `conn.send(message, conn.addr).catch(() => {});
    conns.forEach((one) => one.send(message).catch(() => {}));
    conns.forEach((one) => one.close().catch(() => {}));
    conn.receive().catch(() => {});
    console.log(conn.stats.sent, valuesOf() === before);`,
};

for (const [what, end] of Object.entries(ENDS)) {
  for (const exit of ["", "Deno.exit();"]) {
    Deno.test(`Connections ${what} in an unload listener${exit && " of Deno.exit()"}`, async () => {
      const program = `${COMMON} addEventListener("unload", () => { ${end} }); ${exit}`;
      const output = await outputOf(program, { importMap: true, prefix: ["timeout", "60"] });
      assertEquals(output, "1 true");
    });
  }
}

Deno.test("Listeners and connections that the end of the program closes tell of no failure, also in deno test", async () => {
  const program = `${COMMON}
    for (const waiting of [conn.receive(), byTcp.accept(), byAddress.accept(), conns[0].receive()]) {
      waiting.catch(() => {});
    }
    Deno.test("works", () => {});`;
  const path = await Deno.makeTempFile({ suffix: "_test.ts" });
  try {
    await Deno.writeTextFile(path, program.replaceAll("MOD", url("mod.ts")));
    const { code, stdout, stderr } = await runDeno([
      ...["test", "-A", "--no-check", ...stdOptions()],
      path,
    ]);
    assertEquals([code, stdout.includes("1 passed"), stderr.replace(/^Check.*\n/, "")], [
      0,
      true,
      "",
    ]);
  } finally {
    await Deno.remove(path);
  }
});

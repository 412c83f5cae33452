// A program ends when nothing waits any more, although its connections are open.
import { assertEquals } from "@std/assert";
import { outputOf } from "../../subprocess.ts";

const url = (path: string): string =>
  JSON.stringify(new URL(`../../../${path}`, import.meta.url).href);

const OPEN = `import * as recorder from ${url("tests/provider/recorder.ts")};
  import { LinkLayer } from MOD;
  import { connectRc, listenRc, listenUd } from ${url("net/mod.ts")};
  recorder.answer("ibv_query_port", { link_layer: LinkLayer.ETHERNET });
  recorder.connect();
  const device = "recorder0";
  const message = Uint8Array.of(7);
  const soon = () => ({ signal: AbortSignal.timeout(10) });
  globalThis.addEventListener("unload", () => console.log("end"));`;

const UD = `const conn = await listenUd({ device, qkey: 7 });
  await conn.send(message, conn.addr);
  console.log((await conn.receive())[0]);
  await conn.receive(undefined, soon()).catch(({ name }) => console.log(name));`;

const RC = `await listenRc({ device });
  const listener = await listenRc({ device });
  const accepted = listener.accept();
  const client = await connectRc({ device, tcpPort: listener.addr.port });
  const server = await accepted;
  await client.send(message);
  console.log(await server.receive());
  await server.receive(undefined, soon()).catch(({ name }) => console.log(name));`;

for (const [what, script] of [["UdConn", UD], ["RcListener and an RcConn", RC]] as const) {
  Deno.test(`an open ${what} lets the program end`, async () => {
    const output = await outputOf(`${OPEN}\n${script}`, {
      prefix: ["timeout", "60"],
      importMap: true,
    });
    assertEquals(output, "Uint8Array(1) [ 7 ]\nTimeoutError\nend");
  });
}

// A program ends when nothing waits any more, although its connections are open.
import { assertEquals } from "@std/assert";
import { outputOf } from "../../subprocess.ts";

const url = (path: string): string =>
  JSON.stringify(new URL(`../../../${path}`, import.meta.url).href);

const OPEN = `import * as recorder from ${url("tests/provider/recorder.ts")};
  import { LinkLayer, QpState, WcStatus } from MOD;
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

/** Until then a timer keeps the program alive, whatever else does. */
const FAILED = `const alive = setInterval(() => {}, 1000);
  await received;
  clearInterval(alive);`;

const FAILED_UD = `const conn = await listenUd({ device, qkey: 7 });
  const received = conn.receive().catch(({ code }) => console.log(code));
  recorder.fail("ibv_modify_qp", "EIO");
  recorder.answer("ibv_query_qp", { qp_state: QpState.ERR });
  recorder.complete("cq0", { status: WcStatus.LOC_QP_OP_ERR });
  conn.stats;
  ${FAILED}`;

const FAILED_RC = `await using listener = await listenRc({ device });
  const [client] = await Promise.all([
    connectRc({ device, tcpPort: listener.addr.port, keepAlive: 100 }),
    listener.accept(),
  ]);
  const received = client.receive().catch(({ code }) => console.log(code));
  recorder.fail("ibv_post_send", "EIO");
  ${FAILED}`;

const PROGRAMS = [
  ["an open UdConn lets", UD, "Uint8Array(1) [ 7 ]\nTimeoutError\nend"],
  ["an open RcListener and an open RcConn let", RC, "Uint8Array(1) [ 7 ]\nTimeoutError\nend"],
  ["a UdConn that has failed while it received lets", FAILED_UD, "EIO\nend"],
  ["an RcConn that has failed while it received lets", FAILED_RC, "EIO\nend"],
] as const;

for (const [what, script, printed] of PROGRAMS) {
  Deno.test(`${what} the program end`, async () => {
    const output = await outputOf(`${OPEN}\n${script}`, {
      prefix: ["timeout", "60"],
      importMap: true,
    });
    assertEquals(output, printed);
  });
}

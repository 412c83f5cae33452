// A program ends when nothing waits any more, although its connections are open.
import { assertEquals } from "@std/assert";
import { outputOf } from "../../subprocess.ts";

const url = (path: string): string =>
  JSON.stringify(new URL(`../../../${path}`, import.meta.url).href);

const COMMON = `import * as recorder from ${url("tests/provider/recorder.ts")};
  import {
    CompletionQueue, Context, LinkLayer, QpState, TransportType, WcOpcode, WcStatus,
  } from MOD;
  import { connectRc, listenRc, listenSrd, listenUd } from ${url("net/mod.ts")};
  const device = "recorder0";
  const message = Uint8Array.of(7);
  const soon = () => ({ signal: AbortSignal.timeout(10) });
  const sayName = ({ name }) => console.log(name);
  globalThis.addEventListener("unload", () => console.log("end"));`;

/** What the programs run on. */
const BEDS = {
  device: `recorder.answer("ibv_query_port", { link_layer: LinkLayer.ETHERNET });
    recorder.connect();`,
  network: `import { FakeBed } from ${url("tests/library/cm/fake.ts")};
    const bed = new FakeBed();
    bed.connect("IPv4");`,
  adapter: `import ${url("tests/library/efa/fake.ts")};
    recorder.setField("device", "transport_type", TransportType.UNSPECIFIED);
    recorder.answer("ibv_query_port", { max_msg_sz: 8928 });`,
} as const;

const USED = `const accepted = listener.accept();
  const client = await connectRc(to(listener.addr.port));
  client.closed.then(() => {});
  const server = await accepted;
  await client.send(message);
  console.log(await server.receive());
  await server.receive(soon()).catch(sayName);`;
const USED_PRINTS = "Uint8Array(1) [ 7 ]\nTimeoutError\nend";

/** What waits in the background gets what comes, as long as something else keeps the program alive. */
const BACKGROUND = `listener.unref();
  const servers = [];
  (async () => { for await (const conn of listener) servers.push(conn); })();
  const client = await connectRc(to(listener.addr.port));
  while (servers.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  const [server] = servers;
  for (const conn of [client, server]) conn.unref();
  (async () => { for await (const text of server) console.log(text); })();
  (async () => { for await (const imm of server.writes()) console.log(imm); })();
  client.receive();
  await client.send(message);
  await client.flush();
  const memory = await server.expose(8);
  await client.write(memory.remote, 0, message, { immData: 3 });
  setTimeout(() => [listener, server].forEach((one) => one.ref()), 50);
  setTimeout(() => {
    console.log("without a reference again");
    [listener, server].forEach((one) => one.unref());
  }, 100);`;
const BACKGROUND_PRINTS = "Uint8Array(1) [ 7 ]\n3\nwithout a reference again\nend";

/** Until then a timer keeps the program alive, whatever else does. */
const aliveUntil = (settled: string): string =>
  `const alive = setInterval(() => {}, 1000);
  await ${settled};
  clearInterval(alive);`;

const PROGRAMS: readonly [what: string, bed: keyof typeof BEDS, script: string, prints: string][] =
  [
    [
      "an open UdConn",
      "device",
      `const conn = await listenUd({ device, qkey: 7 });
      await conn.send(message, conn.addr);
      console.log((await conn.receive())[0]);
      await conn.receive(soon()).catch(sayName);`,
      USED_PRINTS,
    ],
    [
      "a UdConn without a reference, of which a loop reads in the background,",
      "device",
      `const conn = await listenUd({ device, qkey: 7 });
      conn.unref();
      (async () => { for await (const [text] of conn) console.log(text); })();
      await conn.send(message, conn.addr);
      setTimeout(() => conn.ref(), 50);
      setTimeout(() => conn.unref(), 100);`,
      "Uint8Array(1) [ 7 ]\nend",
    ],
    [
      "an open UdConn that peers find by address",
      "network",
      `const server = await listenUd({ device, gidIndex: 1, port: 7471 });
      const client = await listenUd({ device, gidIndex: 1 });
      const received = server.receive();
      const found = await client.lookup({ hostname: "host", port: 7471 });
      await client.send(message, found);
      console.log((await received)[0]);
      await server.receive(soon()).catch(sayName);`,
      USED_PRINTS,
    ],
    [
      "an open RcListener and an open RcConn",
      "device",
      `await listenRc({ device });
      const listener = await listenRc({ device });
      const to = (tcpPort) => ({ device, tcpPort });
      ${USED}`,
      USED_PRINTS,
    ],
    [
      "an open RcListener and an open RcConn by address",
      "network",
      `await listenRc({ port: 1 });
      const listener = await listenRc({ port: 7471 });
      const to = (port) => ({ hostname: "host", port });
      ${USED}`,
      USED_PRINTS,
    ],
    [
      "an RcListener and an RcConn without a reference, of which loops read in the background,",
      "device",
      `const listener = await listenRc({ device });
      const to = (tcpPort) => ({ device, tcpPort });
      ${BACKGROUND}`,
      BACKGROUND_PRINTS,
    ],
    [
      "an RcListener and an RcConn by address without a reference, of which loops read in the background,",
      "network",
      `const listener = await listenRc({ port: 7471 });
      const to = (port) => ({ hostname: "host", port });
      ${BACKGROUND}`,
      BACKGROUND_PRINTS,
    ],
    [
      "a channel of connection events that need not be waited for",
      "network",
      `bed.net.channel.unref();
      await Promise.race([bed.net.channel.events().next(), Promise.resolve()]);`,
      "end",
    ],
    [
      "a queue without a reference, beside another one of its channel, whose completions a loop reads,",
      "device",
      `const context = Context.open(device);
      const [quiet, other] = [0, 1].map(() => new CompletionQueue(context, { cqe: 4 }));
      const say = async (name, cq) => {
        for await (const { wrId } of cq.completions()) {
          console.log(name, wrId);
          if (cq === other) return;
        }
      };
      for (const cq of [quiet, other]) cq.unref();
      other.ref();
      say("quiet", quiet);
      say("other", other);
      Deno.unrefTimer(setTimeout(() => {
        recorder.complete("cq0", { wr_id: 1n });
        Deno.unrefTimer(setTimeout(() => recorder.complete("cq1", { wr_id: 2n }), 50));
      }, 50));`,
      "quiet 1n\nother 2n\nend",
    ],
    [
      "a UdConn that has failed while it received",
      "device",
      `const conn = await listenUd({ device, qkey: 7 });
      const received = conn.receive().catch(({ code }) => console.log(code));
      recorder.fail("ibv_modify_qp", "EIO");
      recorder.answer("ibv_query_qp", { qp_state: QpState.ERR });
      recorder.complete("cq0", { status: WcStatus.LOC_QP_OP_ERR });
      conn.stats;
      ${aliveUntil("received")}`,
      "EIO\nend",
    ],
    [
      "an RcConn that has failed while it received",
      "device",
      `await using listener = await listenRc({ device });
      const [client] = await Promise.all([
        connectRc({ device, tcpPort: listener.addr.port, keepAlive: 100 }),
        listener.accept(),
      ]);
      const received = client.receive().catch(({ code }) => console.log(code));
      recorder.fail("ibv_post_send", "EIO");
      ${aliveUntil("received")}`,
      "EIO\nend",
    ],
    [
      "a send of listenSrd() that was lost in a reset, of which no completion tells,",
      "adapter",
      `const conn = await listenSrd({ device, qkey: 7, onOutage: () => {} });
      const sent = conn.send(message, conn.addr).catch(sayName);
      recorder.complete("cq1", { status: WcStatus.WR_FLUSH_ERR, opcode: WcOpcode.RECV });
      ${aliveUntil("sent")}`,
      "WorkCompletionError\nend",
    ],
  ];

for (const [what, bed, script, prints] of PROGRAMS) {
  Deno.test(`The program ends with ${what}`, async () => {
    const options = { prefix: ["timeout", "60"], importMap: true };
    assertEquals(await outputOf(`${COMMON}\n${BEDS[bed]}\n${script}`, options), prints);
  });
}

// A listener whose device, process or system has nothing left tells it, and serves on when there is room.
import * as recorder from "../../provider/recorder.ts";
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { stub } from "@std/testing/mock";
import { connectRc, listenRc, type RcConn, type RcListener } from "../../../net/mod.ts";
import { outputOf } from "../../subprocess.ts";
import { RXE, test, until } from "./recorder_net.ts";

const OPTIONS = { device: RXE, keepAlive: 0, maxMessage: 2 ** 16 };

async function connect(listener: RcListener): Promise<readonly [RcConn, RcConn]> {
  const connecting = connectRc({ ...OPTIONS, tcpPort: listener.addr.port });
  return await Promise.all([connecting, listener.accept()]);
}

/** What is used up: the verb that fails for the next connection of a listener, the errno, and the words for it. */
const LIMITS = {
  "queue pairs": ["ibv_create_qp", "ENOMEM", "the device no queue pair: it has"],
  "memory that may be registered": ["ibv_reg_mr_iova2", "ENOMEM", "register memory"],
  "file descriptors": ["ibv_create_comp_channel", "EMFILE", '"ulimit -n" shows the limit'],
  "completion queues": ["ibv_create_cq", "ENOMEM", "the device no completion queue: it has"],
} as const;

/** So many connections have a queue and memory. */
const FULL = 4;

for (const [what, [verb, code, words]] of Object.entries(LIMITS)) {
  test(`RcListener without ${what} tells it, and serves on when there is room`, async () => {
    const failures: Error[] = [];
    await using listener = await listenRc({
      ...OPTIONS,
      onFailure: (error) => failures.push(error),
    });
    const pairs = [];
    for (let i = 0; i < FULL; i++) pairs.push(await connect(listener));
    // The client has what it needs; the end of the listener is the next one that is made.
    const { port: tcpPort } = listener.addr;
    const client = await Deno.connect({ port: tcpPort });
    recorder.fail(verb, code, { times: 1 });
    const address = { ...pairs[0]![1].peer, qpNum: 99 };
    await client.write(new TextEncoder().encode(`${JSON.stringify(address)}\n`));
    await until("the failure", () => failures.length === 1);
    client.close();
    for (const part of [words, `It has ${FULL} connections`]) {
      assertStringIncludes(failures[0]!.message, part);
    }
    assertEquals(listener.stats.failed, 1);
    pairs.push(await connect(listener));
    for (const conn of pairs.flat()) await conn.close();
  });
}

test("RcListener that cannot accept for want of file descriptors tells it, and serves on", async () => {
  const failures: Error[] = [];
  const { listen } = Deno;
  let accepts = 0;
  using _ = stub(
    Deno,
    "listen",
    ((options: Deno.TcpListenOptions) => {
      const listener = listen(options);
      const accept = listener.accept.bind(listener);
      listener.accept = () =>
        accepts++ > 0
          ? accept()
          : Promise.reject(Object.assign(new Error("Too many open files"), { code: "EMFILE" }));
      return listener;
    }) as typeof Deno.listen,
  );
  await using listener = await listenRc({ ...OPTIONS, onFailure: (error) => failures.push(error) });
  const pair = await connect(listener);
  assertStringIncludes(failures[0]!.message, '"ulimit -n" shows the limit. It has 0 connections');
  for (const conn of pair) await conn.close();
});

Deno.test("RcListener at the limit of descriptors serves on when some are closed", async () => {
  const url = (path: string): string =>
    JSON.stringify(new URL(`../../../${path}`, import.meta.url).href);
  const script = `import * as recorder from ${url("tests/provider/recorder.ts")};
    import { LinkLayer } from MOD;
    import { connectRc, listenRc } from ${url("net/mod.ts")};
    recorder.answer("ibv_query_port", { link_layer: LinkLayer.ETHERNET });
    recorder.connect();
    const device = "recorder0";
    const told = Promise.withResolvers();
    const listener = await listenRc({ device, onFailure: told.resolve });
    const { port: tcpPort } = listener.addr;
    const tcp = await Deno.connect({ port: tcpPort });
    const files = [];
    try {
      for (;;) files.push(Deno.openSync("/dev/null"));
    } catch ({ code }) {
      console.log(code);
    }
    // One is for the socket of the client, so that there is none for that of the listener.
    files.pop().close();
    const second = await Deno.connect({ port: tcpPort });
    console.log((await told.promise).message.includes("ulimit -n"));
    for (const file of files) file.close();
    const accepted = listener.accept();
    const client = await connectRc({ device, tcpPort });
    await (await accepted).close();
    await client.close();
    console.log("served");
    for (const socket of [tcp, second]) socket.close();
    listener.close();`;
  const prefix = ["timeout", "60", "prlimit", "--nofile=200"];
  assertEquals(await outputOf(script, { prefix, importMap: true }), "EMFILE\ntrue\nserved");
});

test("connectRc() names the limit too", async () => {
  await using listener = await listenRc(OPTIONS);
  recorder.fail("ibv_create_qp", "ENOMEM", { times: 1 });
  const connecting = connectRc({ ...OPTIONS, tcpPort: listener.addr.port });
  await assertRejects(() => connecting, Error, "the device no queue pair: it has");
});

// Connections by address without a network.
import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { spy, stub } from "@std/testing/mock";
import { MOVED_NEIGHBOUR } from "../../../internal/cm_reasons.ts";
import { nonblocking, verbs } from "../../../ffi/library.ts";
import { AccessFlags, QpAttrMask, QpState } from "../../../mod.ts";
import * as recorder from "../../provider/recorder.ts";
import type { RecordedStruct } from "../../provider/records.ts";
import { CmError, type CmEvent, CmEventType, CmId } from "../../../cm.ts";
import { connectRc, listenRc } from "../../../net/mod.ts";
import { outputOf } from "../../subprocess.ts";
import { type FakeBed, test } from "../cm/fake.ts";
import { until } from "../../until.ts";

const { DISCONNECTED } = CmEventType;
const port = 7471;
const to = { hostname: "host", port };

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((done) => setTimeout(done, 0));
}

/** What the network was asked for. */
function triesOf(bed: FakeBed): string[] {
  const names = ["resolve_addr", "connect"];
  return bed.net.takeCalls().filter((name) => names.includes(name));
}

for (const [family, gone] of [["IPv4", []], ["IPv6", ["resolve_addr"]]] as const) {
  test(`connectRc() connects to a host that answers at its address of ${family} only`, async (bed) => {
    bed.connect(family);
    await using listener = await listenRc({ port });
    const [client, server] = await Promise.all([connectRc(to), listener.accept()]);
    assertEquals(triesOf(bed), [...gone, "resolve_addr", "connect"]);
    await client.send(Uint8Array.of(7));
    assertEquals(await server.receive(), Uint8Array.of(7));
    for (const conn of [client, server]) await conn.close();
  });

  test(`connectRc() tells that nobody listens, if the other address than ${family} leads nowhere`, async (bed) => {
    bed.connect(family);
    await assertRejects(() => connectRc(to), Deno.errors.ConnectionRefused, "nobody listens");
  });
}

/** What a request states of its sender, and what the listener says of it. */
const STATED: readonly [what: string, gid: string | undefined, mtu: number, reason: string][] = [
  ["another host", "::ffff:10.0.0.3", 3, "it speaks from 10.0.0.1, and its GID is ::ffff:10.0.0.3"],
  ["the broadcast", "::ffff:255.255.255.255", 3, "is that of many hosts"],
  ["an IPv4 group", "::ffff:239.1.2.3", 3, "is that of many hosts"],
  ["an IPv6 group", "ff0e::1", 3, "is that of many hosts"],
  ["nobody", "::", 3, "is that of no host"],
  ["the loopback", "::ffff:127.0.0.1", 3, "it speaks from 10.0.0.1"],
  ["IPv6 loopback", "::1", 3, "it speaks from 10.0.0.1"],
  ["an MTU of 0", undefined, 0, "Its mtu has the code 0, which is none from 1"],
  ["an MTU that is none", undefined, 6, "Its mtu has the code 6"],
];

for (const [what, gid, mtu, reason] of STATED) {
  test(`A request by address that states ${what} is refused, and nothing is made or sent for it`, async (bed) => {
    bed.connect("IPv4");
    await using listener = await listenRc({ port, connectTimeout: 60_000 });
    const abort = new AbortController();
    const { signal } = abort;
    const connect = stub(CmId.prototype, "establishAsync", () => Promise.resolve());
    using _ = connect;
    bed.net.state(gid, mtu);
    const asked = connectRc({ ...to, signal }).catch(() => {});
    const before = recorder.live("qp");
    await until("the failure", () => listener.stats.failed > 0);
    const { lastError } = listener.stats;
    assertInstanceOf(lastError, Deno.errors.InvalidData);
    assertStringIncludes(lastError.message, reason);
    assert(!bed.net.takeCalls().includes("accept"));
    // The one of the client.
    assertEquals([before <= 1, recorder.live("qp") <= 1], [true, true]);
    abort.abort();
    await asked;
  });
}

/** The rights that queue pairs are given, in order, and posts. */
function rights(): (number | "post")[] {
  return recorder.takeOf("ibv_modify_qp", "ibv_post_send").flatMap<number | "post">(
    ({ verb, args }) => {
      if (verb === "ibv_post_send") return ["post" as const];
      const { qp_access_flags } = (args.attr as RecordedStruct).fields;
      return (args.attr_mask as number) & QpAttrMask.ACCESS_FLAGS
        ? [qp_access_flags as number]
        : [];
    },
  );
}

test("An RcConn gives no rights before it knows its peer, and sends nothing before it has given them", async (bed) => {
  bed.connect("IPv4");
  await using listener = await listenRc({ port, keepAlive: 0 });
  const [client, server] = await Promise.all([
    connectRc({ ...to, keepAlive: 0 }),
    listener.accept(),
  ]);
  const given = rights();
  const { REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC } = AccessFlags;
  const all = REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC;
  const first = given.indexOf("post");
  assertEquals(given.filter((one) => one !== "post" && one !== 0), [all, all]);
  assert(given.slice(0, first).includes(all));
  for (const conn of [client, server]) await conn.close();
});

test("listenRc() looks for the host of a request on another thread, as a stranger", async (bed) => {
  bed.connect("IPv4");
  await using listener = await listenRc({ port });
  using later = spy(nonblocking(), "ibv_modify_qp");
  using now = spy(verbs(), "ibv_modify_qp");
  const [client, server] = await Promise.all([connectRc(to), listener.accept()]);
  const toRtr = (attr: unknown): boolean =>
    new DataView((attr as DataView).buffer).getInt32(0, true) === QpState.RTR;
  assertEquals(later.calls.filter(({ args }) => toRtr(args[1])).length, 2);
  assertEquals(now.calls.filter(({ args }) => toRtr(args[1])).length, 0);
  for (const conn of [client, server]) await conn.close();
});

test("connectRc() tells that the peer has disconnected, when it accepts and closes at once", async (bed) => {
  bed.connect("IPv4");
  await using _listener = await listenRc({ port });
  const { connect } = CmId.prototype;
  for (
    const [type, reason] of [[CmEventType.DISCONNECTED, "has disconnected"], [
      CmEventType.REJECTED,
      "does not want it",
    ]] as const
  ) {
    using _ = stub(
      CmId.prototype,
      "connect",
      async function (this: CmId, ...args): Promise<CmEvent> {
        const answer = await connect.apply(this, args);
        bed.net.fail("rdma_init_qp_attr", 22);
        bed.net.push(this, type, 28);
        return answer;
      },
    );
    await assertRejects(() => connectRc(to), Deno.errors.ConnectionReset, reason);
    bed.net.takeCalls();
  }
});

test("RcListener tells that a client has given up, in place of the error of the kernel", async (bed) => {
  bed.connect("IPv4");
  await using listener = await listenRc({ port });
  const { migrate } = CmId.prototype;
  using _ = stub(CmId.prototype, "migrate", function (this: CmId, channel): void {
    migrate.call(this, channel);
    bed.net.fail("rdma_init_qp_attr", 22);
    bed.net.push(this, CmEventType.REJECTED, 28);
  });
  const abort = new AbortController();
  const asked = connectRc({ ...to, signal: abort.signal }).catch(() => {});
  await until("the failure", () => listener.stats.failed > 0);
  const { lastError } = listener.stats;
  assertInstanceOf(lastError, Deno.errors.ConnectionReset);
  assertStringIncludes(lastError.message, "REJECTED (28");
  abort.abort();
  await asked;
});

test("connectRc() does not say that a host does not answer, once it has answered", async (bed) => {
  bed.connect("IPv4");
  await using _listener = await listenRc({ port });
  using _ = stub(CmId.prototype, "establishAsync", (options) => {
    const { promise, reject } = Promise.withResolvers<never>();
    options!.signal!.addEventListener("abort", () => reject(options!.signal!.reason));
    return promise;
  });
  const asked = connectRc({ ...to, connectTimeout: 1000 });
  const { message } = await assertRejects(() => asked, Deno.errors.TimedOut);
  assertStringIncludes(message, ": the peer has answered, and then sent no first message");
});

test("An RcConn says that the hardware address of its neighbour has changed, as ./cm does", async (bed) => {
  bed.connect("IPv4");
  await using listener = await listenRc({ port });
  const ids: CmId[] = [];
  const { disconnected } = CmId.prototype;
  using _ = stub(CmId.prototype, "disconnected", function (this: CmId, ...args): Promise<void> {
    ids.push(this);
    return disconnected.apply(this, args);
  });
  const [client, server] = await Promise.all([connectRc(to), listener.accept()]);
  bed.net.push(ids[0]!, CmEventType.UNREACHABLE, -110);
  const one = await Promise.race(
    [client, server].map((conn) => conn.receive().catch((error) => error)),
  );
  assertInstanceOf(one, Deno.errors.ConnectionReset);
  assertStringIncludes(one.message, MOVED_NEIGHBOUR);
  for (const conn of [client, server]) conn[Symbol.dispose]();
});

for (
  const [how, hasLeft, reason] of [
    ["says that it leaves", true, "the peer has closed the connection"],
    ["is only gone", false, "the peer has disconnected"],
  ] as const
) {
  test(`An RcConn by address whose peer ${how} breaks for that reason, not by the requests that this flushes`, async (bed) => {
    bed.connect("IPv4");
    await using listener = await listenRc({ port, keepAlive: 0 });
    const ids: CmId[] = [];
    const told: Promise<void>[] = [];
    const { disconnected } = CmId.prototype;
    using _ = stub(CmId.prototype, "disconnected", function (this: CmId, ...args): Promise<void> {
      ids.push(this);
      // The queue pair is in ERR by then, and its requests have ended.
      const late = disconnected.apply(this, args).then(() => turns(20));
      told.push(late);
      return late;
    });
    const connecting = connectRc({ ...to, keepAlive: 0 });
    const [client, server] = await Promise.all([connecting, listener.accept()]);
    const received = client.receive().catch((error) => error);
    if (hasLeft) await server.close();
    for (const id of ids.filter(({ disposed }) => !disposed)) bed.net.push(id, DISCONNECTED);
    if (hasLeft) assertEquals(await received, null);
    else assertStringIncludes((await received).message, reason);
    await turns(20);
    await assertRejects(() => client.send(Uint8Array.of(1)), Deno.errors.ConnectionReset, reason);
    for (const conn of [client, server]) conn[Symbol.dispose]();
    await Promise.allSettled(told);
  });
}

test("An RcConn by address breaks with the reason that librdmacm gives", async (bed) => {
  bed.connect("IPv4");
  const ids: CmId[] = [];
  const { disconnected } = CmId.prototype;
  using _ = stub(CmId.prototype, "disconnected", function (this: CmId, ...args): Promise<void> {
    ids.push(this);
    return disconnected.apply(this, args);
  });
  await using listener = await listenRc({ port });
  const [client, server] = await Promise.all([connectRc(to), listener.accept()]);
  for (const id of ids) bed.net.push(id, CmEventType.DEVICE_REMOVAL);
  for (const conn of [client, server]) {
    const error = await assertRejects(() => conn.receive(), Deno.errors.ConnectionReset);
    assertInstanceOf(error.cause, Error);
    assertEquals(error.message, error.cause.message);
    conn[Symbol.dispose]();
  }
});

test("connectRc() tells that packets may be dropped when a host does not answer", async (bed) => {
  bed.connect("IPv4");
  using _ = stub(CmId.prototype, "connect", (...[, , options]) => {
    const { signal } = options!;
    const { promise, reject } = Promise.withResolvers<never>();
    signal!.addEventListener("abort", () => reject(signal!.reason));
    return promise;
  });
  const asked = connectRc({ ...to, connectTimeout: 1000 });
  const { message } = await assertRejects(() => asked, Deno.errors.TimedOut);
  assertStringIncludes(message, ": the host does not answer: it may drop RoCE packets (UDP port");
});

test("connectRc() tries no other address when it is aborted or the name is unknown", async (bed) => {
  bed.connect("IPv6");
  const abort = new AbortController();
  const connecting = connectRc({ ...to, signal: abort.signal });
  abort.abort(new Error("enough"));
  await assertRejects(() => connecting, Error, "enough");
  bed.net.takeCalls();
  const unknown = { hostname: "nobody", port };
  await assertRejects(() => connectRc(unknown), CmError, "is not known");
  assertEquals(triesOf(bed), []);
});

for (const hostname of ["127.0.0.1", "127.9.9.9", "::1"]) {
  test(`listenRc() by address refuses ${hostname}, where all networks would reach it`, async (bed) => {
    const { AddrNotAvailable } = Deno.errors;
    const message = `Cannot listen on ${hostname}: no RDMA device has this address, ` +
      "and a listener there takes peers of all networks. Leave hostname out, or use tcpPort";
    await assertRejects(() => listenRc({ hostname, port }), AddrNotAvailable, message);
    assert(!bed.net.takeCalls().includes("listen"));
  });
}

for (const hostname of ["0.0.0.0", "::", "10.0.0.1"]) {
  test(`listenRc() by address listens on ${hostname}`, async () => {
    await using listener = await listenRc({ hostname, port });
    assertEquals(listener.addr, { hostname, port });
  });
}

const url = (path: string): string =>
  JSON.stringify(new URL(`../../../${path}`, import.meta.url).href);

Deno.test("An open RcListener and an open RcConn by address let the program end", async () => {
  const script = `import { FakeBed } from ${url("tests/library/cm/fake.ts")};
    import { connectRc, listenRc } from ${url("net/mod.ts")};
    const bed = new FakeBed();
    bed.connect("IPv4");
    globalThis.addEventListener("unload", () => console.log("end"));
    await listenRc({ port: 1 });
    const listener = await listenRc({ port: ${port} });
    const accepted = listener.accept();
    const client = await connectRc(${JSON.stringify(to)});
    const server = await accepted;
    await client.send(Uint8Array.of(7));
    console.log(await server.receive());
    const signal = AbortSignal.timeout(10);
    await server.receive(undefined, { signal }).catch(({ name }) => console.log(name));`;
  const output = await outputOf(script, { prefix: ["timeout", "60"], importMap: true });
  assertEquals(output, "Uint8Array(1) [ 7 ]\nTimeoutError\nend");
});

Deno.test("A channel that need not be waited for lets the program end", async () => {
  const script = `import { FakeBed } from ${url("tests/library/cm/fake.ts")};
    const { channel } = new FakeBed().net;
    globalThis.addEventListener("unload", () => console.log("end"));
    channel.unref();
    await Promise.race([channel.events().next(), Promise.resolve()]);
    console.log("waits");`;
  const output = await outputOf(script, { prefix: ["timeout", "60"], importMap: true });
  assertEquals(output, "waits\nend");
});

// Connections by address without a network.
import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { spy, type Stub, stub } from "@std/testing/mock";
import { MOVED_NEIGHBOUR } from "../../../internal/cm_reasons.ts";
import { constants } from "node:os";
import { nonblocking, verbs } from "../../../ffi/library.ts";
import { AccessFlags, QpAttrMask, QpState, VerbsError } from "../../../mod.ts";
import * as recorder from "../../provider/recorder.ts";
import type { RecordedStruct } from "../../provider/records.ts";
import { CmError, type CmEvent, CmEventType, CmId } from "../../../cm.ts";
import {
  connectRc,
  listenRc,
  type RcConn,
  type RcListener,
  type RcOptions,
} from "../../../net/mod.ts";
import { type FakeBed, test as testOn } from "../cm/fake.ts";
import { orAborted } from "../../../wait/abort.ts";
import { clock, timers } from "../../../wait/clock.ts";
import { until } from "../../until.ts";

const { DISCONNECTED, DEVICE_REMOVAL, REJECTED, UNREACHABLE } = CmEventType;
const { ConnectionReset, TimedOut } = Deno.errors;
const port = 7471;
const to = { hostname: "host", port };

/** Defines a test on a network whose hosts reach each other by IPv4. */
function test(title: string, body: (bed: FakeBed) => Promise<void>): void {
  testOn(title, (bed) => {
    bed.connect("IPv4");
    return body(bed);
  });
}

const pause = (time: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, time));

/** The two ends of a connection, and the identifiers that they wait on. */
interface Ends extends AsyncDisposable {
  readonly ends: readonly [client: RcConn, server: RcConn];
  readonly ids: readonly CmId[];
}

/** Connects two ends that learn so many milliseconds late that their connection has ended. */
async function connected(options: RcOptions = {}, delay = 0): Promise<Ends> {
  const ids: CmId[] = [];
  const told: Promise<void>[] = [];
  const { disconnected } = CmId.prototype;
  using _ = stub(CmId.prototype, "disconnected", function (this: CmId, ...args): Promise<void> {
    ids.push(this);
    const late = disconnected.apply(this, args).then(() => pause(delay));
    told.push(late);
    return late;
  });
  await using listener = await listenRc({ port, ...options });
  const ends = await Promise.all([connectRc({ ...options, ...to }), listener.accept()]);
  const close = async (): Promise<void> => {
    for (const conn of ends) await conn.close();
    await Promise.allSettled(told);
  };
  return { ends, ids, [Symbol.asyncDispose]: close };
}

/** What the network was asked for. */
function triesOf(bed: FakeBed): string[] {
  const names = ["resolve_addr", "connect"];
  return bed.net.takeCalls().filter((name) => names.includes(name));
}

for (const [family, gone] of [["IPv4", []], ["IPv6", ["resolve_addr"]]] as const) {
  testOn(
    `connectRc() connects to a host that answers at its address of ${family} only`,
    async (bed) => {
      bed.connect(family);
      await using made = await connected();
      const [client, server] = made.ends;
      assertEquals(triesOf(bed), [...gone, "resolve_addr", "connect"]);
      await client.send(Uint8Array.of(7));
      assertEquals(await server.receive(), Uint8Array.of(7));
    },
  );

  testOn(
    `connectRc() tells that nobody listens, if the other address than ${family} leads nowhere`,
    async (bed) => {
      bed.connect(family);
      const { message } = await assertRejects(
        () => connectRc(to),
        Deno.errors.ConnectionRefused,
        "nobody listens",
      );
      // It does not say twice what cannot be done.
      assertMatch(message, /^Cannot connect to \S+ port \d+: the event is REJECTED \(8: /);
    },
  );
}

/** A time limit of connections that ends when a test wants it, however slow the machine is. */
class TimeLimit implements Disposable {
  static readonly MS = 60_000;
  readonly #stubs = new DisposableStack();
  #passedMs = 0;
  #isOver = (): void => {};

  constructor() {
    const { precise } = clock;
    const { setTimeout } = timers;
    this.#stubs.use(stub(clock, "precise", () => precise() + this.#passedMs));
    const replaceable = timers as { setTimeout: typeof setTimeout };
    this.#stubs.use(stub(replaceable, "setTimeout", (call, ms) => {
      if (ms === TimeLimit.MS) this.#isOver = call;
      return setTimeout(call, ms);
    }));
  }

  end(): void {
    this.#passedMs = TimeLimit.MS;
    this.#isOver();
  }

  [Symbol.dispose](): void {
    this.#stubs.dispose();
  }
}

test("connectRc() that nobody has answered says so, also if the last try is cut short", async () => {
  const { connect } = CmId.prototype;
  let tries = 0;
  using time = new TimeLimit();
  type Connected = ReturnType<CmId["connect"]>;
  using _tries = stub(CmId.prototype, "connect", function (this: CmId, ...args): Connected {
    if (++tries === 1) return connect.apply(this, args);
    return orAborted(Promise.withResolvers<never>().promise, args[2]?.signal);
  });
  const options = { ...to, retryInterval: 1, connectTimeout: TimeLimit.MS };
  const late = connectRc(options);
  until("the second try", () => tries === 2).then(() => time.end());
  await assertRejects(() => late, Deno.errors.ConnectionRefused, "nobody listens");
  assertEquals(tries, 2);
  // The program has ended it for a reason of its own.
  const enough = new Error("enough");
  tries = 0;
  const abort = new AbortController();
  const connecting = connectRc({ ...options, signal: abort.signal });
  await until("the second try", () => tries === 2);
  abort.abort(enough);
  assertEquals(await assertRejects(() => connecting), enough);
});

/** Has a client ask for a connection; returns the failure of the listener. */
async function refusal(listener: RcListener): Promise<Error> {
  const abort = new AbortController();
  const asked = connectRc({ ...to, signal: abort.signal }).catch(() => {});
  await until("the failure", () => listener.stats.failed > 0);
  abort.abort();
  await asked;
  const { lastError } = listener.stats;
  assertInstanceOf(lastError, Error);
  return lastError;
}

for (
  const [what, gid, mtu, reason] of [
    ["another host", "::ffff:10.0.0.3", 3, "from 10.0.0.1, and its GID is ::ffff:10.0.0.3"],
    ["a group", "ff0e::1", 3, "is that of many hosts"],
    ["an MTU of 0", undefined, 0, "Its mtu has the code 0, which is none from 1"],
    ["an MTU that is none", undefined, 6, "Its mtu has the code 6"],
  ] as const
) {
  test(`A request by address that states ${what} is refused, and nothing is made or sent for it`, async (bed) => {
    await using listener = await listenRc({ port, connectTimeout: 60_000 });
    using _ = stub(CmId.prototype, "establish", () => Promise.resolve());
    bed.net.state(gid, mtu);
    recorder.take();
    const error = await refusal(listener);
    assertInstanceOf(error, Deno.errors.InvalidData);
    assertStringIncludes(error.message, reason);
    assert(!bed.net.takeCalls().includes("accept"));
    // That of the client.
    assertEquals(recorder.takeOf("ibv_create_qp", "ibv_create_qp_ex").length, 1);
  });
}

/** The rights that queue pairs are given, in order, and posts. */
function rights(): (number | "post")[] {
  return recorder.takeOf("ibv_modify_qp", "ibv_post_send").flatMap<number | "post">(
    ({ verb, args }) => {
      if (verb === "ibv_post_send") return ["post"];
      const { qp_access_flags } = (args.attr as RecordedStruct).fields;
      const isGiven = (args.attr_mask as number) & QpAttrMask.ACCESS_FLAGS;
      return isGiven ? [qp_access_flags as number] : [];
    },
  );
}

test("An RcConn gives no rights before it knows its peer, and sends nothing before it has given them", async () => {
  await using _ends = await connected({ keepAlive: 0 });
  const given = rights();
  const { REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC } = AccessFlags;
  const all = REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC;
  assertEquals(given.filter((one) => one !== "post" && one !== 0), [all, all]);
  assert(given.slice(0, given.indexOf("post")).includes(all));
});

test("RcConn.remoteAddr and localAddr have the IP addresses and the ports of the ends", async () => {
  await using listener = await listenRc({ port });
  await using client = await connectRc(to);
  await using server = await listener.accept();
  assertEquals(client.remoteAddr, { hostname: client.peer.gid.replace("::ffff:", ""), port });
  assertEquals(server.remoteAddr!.hostname, server.peer.gid.replace("::ffff:", ""));
  assertEquals([server.localAddr, client.localAddr], [client.remoteAddr, server.remoteAddr]);
});

test("listenRc() looks for the host of a request on another thread, as a stranger", async () => {
  using later = spy(nonblocking(), "ibv_modify_qp");
  using now = spy(verbs(), "ibv_modify_qp");
  await using _ends = await connected();
  const toRtr = (attr: unknown): boolean =>
    new DataView((attr as DataView).buffer).getInt32(0, true) === QpState.RTR;
  const counts = [later, now].map(({ calls }) => calls.filter(({ args }) => toRtr(args[1])).length);
  assertEquals(counts, [2, 0]);
});

for (
  const [type, reason] of [[DISCONNECTED, "has disconnected"], [
    REJECTED,
    "does not want it",
  ]] as const
) {
  test(`connectRc() tells that the peer ${reason} right after its answer`, async (bed) => {
    await using _listener = await listenRc({ port });
    const { connect } = CmId.prototype;
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
    await assertRejects(() => connectRc(to), ConnectionReset, reason);
  });
}

test("RcListener tells that a client has given up, in place of the error of the kernel", async (bed) => {
  await using listener = await listenRc({ port });
  const { migrate } = CmId.prototype;
  using _ = stub(CmId.prototype, "migrate", function (this: CmId, channel): void {
    migrate.call(this, channel);
    bed.net.fail("rdma_init_qp_attr", 22);
    bed.net.push(this, REJECTED, 28);
  });
  const error = await refusal(listener);
  assertInstanceOf(error, ConnectionReset);
  assertStringIncludes(error.message, "REJECTED (28");
});

test("RcListener tells that a client has taken back its request, of which no event tells", async (bed) => {
  await using listener = await listenRc({ port });
  const { migrate } = CmId.prototype;
  using _ = stub(CmId.prototype, "migrate", function (this: CmId, channel): void {
    migrate.call(this, channel);
    bed.net.takeBack(this);
  });
  const { message } = await refusal(listener);
  assertStringIncludes(message, "The peer has taken back its request, or has gone");
});

/** A step that does not end before its signal aborts. */
function endless(step: "resolveAddr" | "resolveRoute" | "connect" | "establish"): Stub {
  return stub(CmId.prototype, step, (...args: unknown[]) => {
    const { signal } = args.at(-1) as { readonly signal: AbortSignal };
    const { promise, reject } = Promise.withResolvers<never>();
    signal.addEventListener("abort", () => reject(signal.reason));
    return promise;
  }) as never;
}

for (
  const [step, words] of [
    [
      "connect",
      ": the host does not answer: there may be none, it may drop RoCE packets (UDP port",
    ],
    ["establish", ": the peer has answered, and then sent no first message"],
  ] as const
) {
  test(`connectRc() tells what a host has not done when ${step}() takes too long`, async () => {
    await using _listener = await listenRc({ port });
    using steps = endless(step);
    using time = new TimeLimit();
    const asked = connectRc({ ...to, connectTimeout: TimeLimit.MS });
    until("the step", () => steps.calls.length > 0).then(() => time.end());
    const { message } = await assertRejects(() => asked, TimedOut);
    assertStringIncludes(message, words);
  });
}

for (const step of ["resolveAddr", "resolveRoute"] as const) {
  test(`connectRc() by address ends in ${step}() when its signal aborts`, async () => {
    using steps = endless(step);
    const abort = new AbortController();
    const connecting = connectRc({ ...to, signal: abort.signal });
    await until("the step", () => steps.calls.length > 0);
    abort.abort(new Error("enough"));
    await assertRejects(() => connecting, Error, "enough");
    const { signal } = (steps.calls[0]!.args as unknown[]).at(-1) as { signal?: AbortSignal };
    assertEquals(signal?.aborted, true);
  });
}

test("An RcConn says that the hardware address of its neighbour has changed, as ./cm does", async (bed) => {
  await using made = await connected();
  bed.net.push(made.ids[0]!, UNREACHABLE, -110);
  const broken = made.ends.map((conn) => conn.receive().catch((error) => error));
  const one = await Promise.race(broken);
  assertInstanceOf(one, ConnectionReset);
  assertStringIncludes(one.message, MOVED_NEIGHBOUR);
});

for (
  const [how, hasLeft, reason] of [
    ["says that it leaves", true, "the peer has closed the connection"],
    ["is only gone", false, "the peer has disconnected"],
  ] as const
) {
  test(`An RcConn by address whose peer ${how} breaks for that reason, not by the requests that this flushes`, async (bed) => {
    // The queue pair is in ERR by then, and its requests have ended.
    await using made = await connected({ keepAlive: 0 }, 20);
    const [client, server] = made.ends;
    const received = client.receive().catch((error) => error);
    if (hasLeft) await server.close();
    for (const id of made.ids) if (!id.disposed) bed.net.push(id, DISCONNECTED);
    if (hasLeft) assertEquals(await received, null);
    else assertStringIncludes((await received).message, reason);
    await pause(20);
    await assertRejects(() => client.send(Uint8Array.of(1)), ConnectionReset, reason);
  });
}

test("An RcConn by address breaks with the reason that librdmacm gives", async (bed) => {
  await using made = await connected();
  for (const id of made.ids) bed.net.push(id, DEVICE_REMOVAL);
  for (const conn of made.ends) {
    const { message, cause } = await assertRejects(() => conn.receive(), ConnectionReset);
    assertInstanceOf(cause, Error);
    assertEquals(message, cause.message);
  }
});

test("Connections by address share an event channel, which is closed with the last of them", async (bed) => {
  const first = await connected();
  const others = await connected();
  const [{ channel }] = first.ids as [CmId];
  assertEquals(
    [...first.ids, ...others.ids].map((id) => id.channel === channel),
    Array(4).fill(true),
  );
  bed.net.push(first.ids[0]!, DISCONNECTED);
  await assertRejects(() => first.ends[0].receive(), ConnectionReset, "the peer has disconnected");
  await first[Symbol.asyncDispose]();
  const [client, server] = others.ends;
  await client.send(Uint8Array.of(7));
  assertEquals(await server.receive(), Uint8Array.of(7));
  assertEquals(channel.disposed, false);
  await others[Symbol.asyncDispose]();
  assertEquals(channel.disposed, true);
  await using next = await connected();
  const after = next.ids[0]!.channel;
  assertEquals(after.disposed, false);
  // Ended again, as by `using`.
  client[Symbol.dispose]();
  await using last = await connected();
  assertEquals(last.ids[0]!.channel === after, true);
});

test("Events of ids that nobody waits for do not stay on the channel that connections share", async (bed) => {
  await using made = await connected();
  const [{ channel }] = made.ids as [CmId];
  for (let i = 0; i < 3; i++) bed.net.push(made.ids[0]!, CmEventType.ADDR_CHANGE);
  bed.net.push(made.ids[1]!, DISCONNECTED);
  await assertRejects(() => made.ends[1].receive(), ConnectionReset);
  await pause(20);
  const abort = new AbortController();
  const left = channel.events({ signal: abort.signal }).next();
  await pause(20);
  abort.abort(new Error("nothing is left"));
  await assertRejects(() => left, Error, "nothing is left");
});

test("An RcConn by address that cannot share the channel of the others is not made, and leaves nothing", async () => {
  await using made = await connected();
  const shared = made.ids[0]!.channel;
  await using listener = await listenRc({ port, onFailure: () => {} });
  {
    const { migrate } = CmId.prototype;
    using _ = stub(CmId.prototype, "migrate", function (this: CmId, channel): void {
      if (channel === shared) throw new Error("enough");
      migrate.call(this, channel);
    });
    await assertRejects(() => connectRc(to), Error, "enough");
  }
  const [client, server] = made.ends;
  await client.send(Uint8Array.of(7));
  assertEquals(await server.receive(), Uint8Array.of(7));
  const again = await Promise.all([connectRc(to), listener.accept()]);
  for (const conn of again) await conn.close();
});

testOn(
  "connectRc() tries no other address when it is aborted or the name is unknown",
  async (bed) => {
    bed.connect("IPv6");
    const abort = new AbortController();
    const connecting = connectRc({ ...to, signal: abort.signal });
    abort.abort(new Error("enough"));
    await assertRejects(() => connecting, Error, "enough");
    bed.net.takeCalls();
    await assertRejects(() => connectRc({ hostname: "nobody", port }), CmError, "is not known");
    assertEquals(triesOf(bed), []);
  },
);

for (const hostname of ["127.9.9.9", "::1"]) {
  testOn(
    `listenRc() by address refuses ${hostname}, where all networks would reach it`,
    async (bed) => {
      const message = `Cannot listen on ${hostname}: it is a loopback address, which the ` +
        "system takes for all addresses, so that a listener there takes peers of all networks. Leave hostname out, or use tcpPort";
      const { AddrNotAvailable } = Deno.errors;
      await assertRejects(() => listenRc({ hostname, port }), AddrNotAvailable, message);
      assert(!bed.net.takeCalls().includes("listen"));
    },
  );
}

for (const hostname of ["127.9.9.9", "::1"]) {
  testOn(`connectRc() by address refuses ${hostname} at once`, async (bed) => {
    const words = `Cannot connect to ${hostname} port ${port}: ${hostname} is a loopback address`;
    const connected = (): Promise<unknown> => connectRc({ hostname, port });
    await assertRejects(connected, Deno.errors.AddrNotAvailable, words);
    assertEquals(triesOf(bed), []);
  });
}

testOn("listenRc() at a port in use throws the error of Deno", async (bed) => {
  bed.net.fail("rdma_bind_addr", constants.errno.EADDRNOTAVAIL);
  const { AddrInUse } = Deno.errors;
  const { cause } = await assertRejects(() => listenRc({ port }), AddrInUse, `uses port ${port} (`);
  assert(cause instanceof VerbsError && cause.code === "EADDRNOTAVAIL");
  // A program uses the port at all addresses, or no device has this one.
  bed.net.fail("rdma_bind_addr", constants.errno.EADDRNOTAVAIL);
  await assertRejects(() => listenRc({ hostname: "10.0.0.1", port }), VerbsError, "or no RDMA");
});

testOn("listenRc() by address listens on all addresses, or on one", async () => {
  for (const hostname of ["0.0.0.0", "::", "10.0.0.1"]) {
    await using listener = await listenRc({ hostname, port });
    assertEquals(listener.addr, { hostname, port });
  }
});

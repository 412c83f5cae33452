// Connections by name without a network.
import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { stub } from "@std/testing/mock";
import { CmError, CmEventType, CmId } from "../../../cm.ts";
import { connectRc, listenRc } from "../../../net/mod.ts";
import { waitReadable } from "../../../ffi/fd_watcher.ts";
import { outputOf } from "../../subprocess.ts";
import { FakeBed } from "../cm/fake.ts";

const port = 7471;
const to = { hostname: "host", port };

function test(title: string, body: (bed: FakeBed) => Promise<void>): void {
  Deno.test(title, async () => {
    {
      using bed = new FakeBed();
      await body(bed);
    }
    // Ends when the watcher's poll has returned.
    await waitReadable(0).cancel();
  });
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

test("An RcConn by name breaks with the reason that librdmacm gives", async (bed) => {
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
  const asked = connectRc({ ...to, connectTimeout: 20 });
  const { message } = await assertRejects(() => asked, Deno.errors.TimedOut);
  assertStringIncludes(message, ": the host does not answer. It may drop RoCE packets (UDP port");
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
  test(`listenRc() by name refuses ${hostname}, where all networks would reach it`, async (bed) => {
    const { AddrNotAvailable } = Deno.errors;
    const message = `Cannot listen on ${hostname}: no RDMA device has this address, ` +
      "and a listener there takes peers of all networks. Leave hostname out, or use tcpPort";
    await assertRejects(() => listenRc({ hostname, port }), AddrNotAvailable, message);
    assert(!bed.net.takeCalls().includes("listen"));
  });
}

for (const hostname of ["0.0.0.0", "::", "10.0.0.1"]) {
  test(`listenRc() by name listens on ${hostname}`, async () => {
    await using listener = await listenRc({ hostname, port });
    assertEquals(listener.addr, { hostname, port });
  });
}

const url = (path: string): string =>
  JSON.stringify(new URL(`../../../${path}`, import.meta.url).href);

Deno.test("An open RcListener and an open RcConn by name let the program end", async () => {
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

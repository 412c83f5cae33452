import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { stub } from "@std/testing/mock";
import { unlessAborted } from "../../../net/rc/attempt.ts";
import { connectRc } from "../../../net/rc/connect_rc.ts";
import { listenRc } from "../../../net/rc/listen_rc.ts";
import {
  type RcAddress,
  readLine,
  readOffer,
  readRcAddress,
  writeAddress,
  writeOffer,
} from "../../../net/rc/rc_address.ts";

const HOSTILE = "\x1b[2J\x7f\u009b31m\u202e\u2028";

/** An error that shows nothing that a terminal obeys. */
function assertHarmless(error: Error): void {
  // deno-lint-ignore no-control-regex -- they are what is looked for
  const controls = /[\x00-\x08\x0b-\x1f\x7f-\x9f\p{Cf}\p{Zl}\p{Zp}]/u;
  assertEquals(controls.test(Deno.inspect(error)), false, Deno.inspect(error));
}

/** A connection on which nothing ends, closed or not: Deno 2.8.3 leaves what is pending on a closed one. */
const stuck = {
  read: () => new Promise(() => {}),
  write: () => new Promise(() => {}),
} as unknown as Deno.Conn;

Deno.test("readLine() and writeAddress() end when the signal aborts, whatever the connection does", async () => {
  const controller = new AbortController();
  const { signal } = controller;
  const waits = [readLine(stuck, signal), writeAddress(stuck, {} as RcAddress, signal)];
  const reason = new Error("enough");
  controller.abort(reason);
  for (const wait of waits) assertEquals(await assertRejects(() => wait, Error), reason);
});

/** A connection on which these bytes arrive, at most `chunk` in one read, and then nothing more. */
function connectionOf(bytes: Uint8Array, chunk: number): Deno.Conn {
  let at = 0;
  const read = (buffer: Uint8Array): Promise<number | null> => {
    const part = bytes.subarray(at, at + Math.min(chunk, buffer.length));
    buffer.set(part);
    at += part.length;
    return Promise.resolve(part.length === 0 ? null : part.length);
  };
  return { read } as unknown as Deno.Conn;
}

const NEVER = new AbortController().signal;
const { InvalidData } = Deno.errors;

for (
  const [what, text, reason] of [
    ["too long", " ".repeat(1 << 16), "it is longer than"],
    ["cut off", "{}", "it ends after 2 bytes"],
    ["followed by something", "{}\n{}\n", "something follows it"],
    ["no JSON", "{\n", "it is not JSON"],
    ["hostile", `${HOSTILE}\n`, "it is not JSON"],
  ] as const
) {
  Deno.test(`readLine() refuses a line that is ${what}`, async () => {
    const bytes = new TextEncoder().encode(text);
    const conn = connectionOf(bytes, bytes.length);
    const error = await assertRejects(() => readLine(conn, NEVER), InvalidData, reason);
    assertHarmless(error);
  });
}

Deno.test("readLine() distinguishes a peer that closes the connection from one that sends half a line", async () => {
  const reset = { read: () => Promise.reject(new Deno.errors.ConnectionReset("words of Deno")) };
  for (const conn of [connectionOf(new Uint8Array(), 9), reset as unknown as Deno.Conn]) {
    const closed = "the peer has closed the TCP connection and sent no address";
    await assertRejects(() => readLine(conn, NEVER), Deno.errors.ConnectionReset, closed);
  }
});

Deno.test("readLine() refuses a line that is no UTF-8", async () => {
  const line = Uint8Array.of(...new TextEncoder().encode('{"a":"'), 0xff, 0x22, 0x7d, 0x0a);
  await assertRejects(() => readLine(connectionOf(line, 9), NEVER), InvalidData, "it is not JSON");
});

Deno.test("readLine() joins the parts of a line", async () => {
  const bytes = new TextEncoder().encode('{"qpNum":7}\n');
  assertEquals(await readLine(connectionOf(bytes, 1), NEVER), { qpNum: 7 });
});

Deno.test("readRcAddress() shows nothing that a terminal obeys", () => {
  for (
    const address of [
      HOSTILE,
      { transport: "RC", gid: HOSTILE },
      { transport: "RC", gid: "::1", lid: HOSTILE },
      { [HOSTILE]: 1 },
    ]
  ) assertHarmless(assertThrows(() => readRcAddress(address), InvalidData));
});

Deno.test("abortable() rejects with the reason of the signal, whatever fails because of it", async () => {
  const { signal } = new AbortController();
  const closed = (): Promise<never> => Promise.reject(new Error("closed"));
  await assertRejects(() => unlessAborted(signal, closed), Error, "closed");
  const aborted = AbortSignal.abort(new Error("enough"));
  await assertRejects(() => unlessAborted(aborted, closed), Error, "enough");
});

Deno.test("connectRc() names the host and the port where nobody listens", async () => {
  const tcpPort = freePort();
  const message = `Cannot connect to 127.0.0.1 port ${tcpPort}: nobody listens there`;
  await assertRejects(() => connectRc({ tcpPort }), Deno.errors.ConnectionRefused, message);
});

Deno.test("connectRc() names the host and the port that cannot be reached, whatever Deno says", async () => {
  for (const error of [new Error("No route to host"), new Deno.errors.TimedOut("it took long")]) {
    using _connect = stub(Deno, "connect", () => Promise.reject(error) as never);
    const failed = await assertRejects(
      () => connectRc({ hostname: "10.0.0.99", tcpPort: 5 }),
      error.constructor as ErrorConstructor,
      `Cannot connect to 10.0.0.99 port 5: ${error.message}`,
    );
    assertEquals(failed.cause, error);
  }
  const denied = new Deno.errors.NotCapable("Requires net access");
  using _connect = stub(Deno, "connect", () => Promise.reject(denied) as never);
  assertEquals(await assertRejects(() => connectRc({ tcpPort: 5 }), Error), denied);
});

/** A port of this host on which nobody listens. */
function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

Deno.test("connectRc() with retryInterval tries until somebody listens", async () => {
  const reason = new Error("somebody listens");
  const controller = new AbortController();
  const { signal } = controller;
  let attempts = 0;
  using _connect = stub(Deno, "connect", () => {
    if (++attempts < 3) return Promise.reject(new Deno.errors.ConnectionRefused()) as never;
    controller.abort(reason);
    return new Promise(() => {}) as never;
  });
  const connecting = connectRc({ tcpPort: 5, retryInterval: 1, connectTimeout: 60_000, signal });
  assertEquals(await assertRejects(() => connecting, Error), reason);
  assertEquals(attempts, 3);
});

Deno.test("connectRc() with retryInterval ends when the time is over, and when the signal aborts", async () => {
  const tcpPort = freePort();
  // The time is over before the next attempt.
  const late = (): Promise<unknown> =>
    connectRc({ tcpPort, retryInterval: 60_000, connectTimeout: 60_000 });
  await assertRejects(late, Deno.errors.ConnectionRefused, `port ${tcpPort}: nobody listens there`);
  const signal = AbortSignal.timeout(20);
  await assertRejects(
    () => connectRc({ tcpPort, retryInterval: 60_000, connectTimeout: 90_000, signal }),
    DOMException,
  );
});

Deno.test("listenRc() names the TCP port that another program uses", async () => {
  using other = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = other.addr;
  const message = `another program uses TCP port ${port} of "127.0.0.1"`;
  await assertRejects(() => listenRc({ tcpPort: port }), Deno.errors.AddrInUse, message);
  // An address of documentation, which no host has.
  const elsewhere = { hostname: "192.0.2.1", tcpPort: 0 };
  await assertRejects(() => listenRc(elsewhere), Deno.errors.AddrNotAvailable);
});

Deno.test("readOffer() reads what writeOffer() writes, with and without zeros behind", () => {
  const most = { credits: 2 ** 15, maxMessage: 2 ** 24, mtu: 4096 };
  const bytes = writeOffer(most);
  const field = new Uint8Array(56);
  field.set(bytes);
  assertEquals([readOffer(bytes), readOffer(field)], [most, most]);
});

Deno.test("readOffer() refuses what is none, and shows nothing of it that a terminal obeys", () => {
  const wrong = [
    "",
    HOSTILE,
    "null",
    "{}",
    '{"credits":0,"maxMessage":64,"mtu":1024}',
    '{"credits":1}',
  ];
  for (const text of [...wrong, `{"credits":1,"maxMessage":64,"mtu":1024,"${HOSTILE}":1}`]) {
    const bytes = new TextEncoder().encode(text);
    assertHarmless(assertThrows(() => readOffer(bytes), InvalidData, "address of the peer"));
  }
});

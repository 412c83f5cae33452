import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { abortable, connectRc } from "../../../net/rc/connect_rc.ts";
import { readLine, writeAddress } from "../../../net/rc/exchange.ts";
import { type RcAddress, readRcAddress } from "../../../net/rc/rc_address.ts";

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

Deno.test("readLine() refuses a line that is no UTF-8", async () => {
  const line = Uint8Array.of(...new TextEncoder().encode('{"a":"'), 0xff, 0x22, 0x7d, 0x0a);
  await assertRejects(() => readLine(connectionOf(line, 9), NEVER), InvalidData, "it is not JSON");
});

Deno.test("readLine() joins the parts of a line", async () => {
  const bytes = new TextEncoder().encode('{"qpn":7}\n');
  assertEquals(await readLine(connectionOf(bytes, 1), NEVER), { qpn: 7 });
});

Deno.test("readRcAddress() shows nothing that a terminal obeys", () => {
  for (
    const address of [
      HOSTILE,
      { transport: "rc", gid: HOSTILE },
      { transport: "rc", gid: "::1", lid: HOSTILE },
      { [HOSTILE]: 1 },
    ]
  ) assertHarmless(assertThrows(() => readRcAddress(address), InvalidData));
});

Deno.test("abortable() rejects with the reason of the signal, whatever fails because of it", async () => {
  const { signal } = new AbortController();
  const closed = (): Promise<never> => Promise.reject(new Error("closed"));
  await assertRejects(() => abortable(signal, closed), Error, "closed");
  const aborted = AbortSignal.abort(new Error("enough"));
  await assertRejects(() => abortable(aborted, closed), Error, "enough");
});

Deno.test("connectRc() names the host and the port where nobody listens", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  const message = `Cannot connect to 127.0.0.1 port ${port}: nobody listens there`;
  await assertRejects(
    () => connectRc({ tcpPort: port }),
    Deno.errors.ConnectionRefused,
    message,
  );
});

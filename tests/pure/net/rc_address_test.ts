import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { readLine } from "../../../net/rc/exchange.ts";
import { readRcAddress } from "../../../net/rc/rc_address.ts";

const { InvalidData } = Deno.errors;

const HOSTILE = "\x1b[2J\x7f\u009b31m\u202e\u2028";
// deno-lint-ignore no-control-regex -- they are what is looked for
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\p{Cf}\p{Zl}\p{Zp}]/u;

for (
  const [what, address] of [
    ["is text", HOSTILE],
    ["has such a GID", { transport: "rc", gid: HOSTILE }],
    ["has such a number", { transport: "rc", gid: "::1", lid: HOSTILE }],
    ["has such a name", { [HOSTILE]: 1 }],
  ] as const
) {
  Deno.test(`readRcAddress() shows nothing that a terminal obeys when the address ${what}`, () => {
    const error = assertThrows(() => readRcAddress(address), InvalidData);
    assertEquals(CONTROLS.test(Deno.inspect(error)), false, Deno.inspect(error));
  });
}

Deno.test("readLine() shows nothing that a terminal obeys when the line is not JSON", async () => {
  const line = new TextEncoder().encode(`${HOSTILE}\n`);
  const conn = {
    read: (buffer: Uint8Array) => {
      buffer.set(line);
      return Promise.resolve(line.length);
    },
  } as unknown as Deno.Conn;
  const error = await assertRejects(
    () => readLine(conn, new AbortController().signal),
    InvalidData,
    "it is not JSON",
  );
  assertEquals(CONTROLS.test(Deno.inspect(error)), false, Deno.inspect(error));
});

import { assertEquals, assertThrows } from "@std/assert";
import { Gid } from "../../../mod.ts";
import {
  type Address,
  ADDRESS_SIZE,
  decodeAddress,
  encodeAddress,
  formatAddress,
} from "../../peer/address.ts";

const address: Address = { lid: 0, qpn: 0x11, psn: 0x3fa2c1, gid: Gid.parse("10.0.0.1") };
const text = "0000:000011:3fa2c1:00000000000000000000ffff0a000001\0";

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

Deno.test("encodeAddress() writes what ibv_ud_pingpong reads", () => {
  assertEquals(new TextDecoder().decode(encodeAddress(address)), text);
  assertEquals(encodeAddress(address).length, ADDRESS_SIZE);
});

Deno.test("decodeAddress() reads what ibv_ud_pingpong writes", () => {
  const { lid, qpn, psn, gid } = decodeAddress(bytes(text.replace("0000:", "ab1f:")));
  assertEquals([lid, qpn, psn, gid.toString()], [0xab1f, 0x11, 0x3fa2c1, "::ffff:10.0.0.1"]);
});

Deno.test("decodeAddress() reads every address that encodeAddress() writes", () => {
  for (const numbers of [[0, 0, 0], [0xffff, 0xff_ffff, 0xff_ffff], [0x12, 0x345, 0x6789]]) {
    const [lid, qpn, psn] = numbers as [number, number, number];
    const gid = Gid.parse("fe80::9:abcd");
    const read = decodeAddress(encodeAddress({ lid, qpn, psn, gid }));
    assertEquals([read.lid, read.qpn, read.psn], numbers);
    assertEquals(read.gid.bytes, gid.bytes);
  }
});

Deno.test("decodeAddress() throws when the peer speaks something else", () => {
  const wrong = [
    "",
    text.slice(0, -1),
    text.slice(0, 20),
    text.replace("\0", "0"),
    text.replaceAll(":", ";"),
    text.replace("3fa2c1", "3fa2cg"),
    text.replace("000011", "-00011"),
    "GET / HTTP/1.1\r\nHost: 10.0.0.1\r\nUser-Agent: someone\r\n",
  ];
  for (const text of wrong) {
    assertThrows(() => decodeAddress(bytes(text)), SyntaxError, "Cannot read address");
  }
  assertThrows(() => decodeAddress(new Uint8Array(ADDRESS_SIZE).fill(0xff)), SyntaxError);
});

Deno.test("formatAddress() prints the lines of ibv_ud_pingpong", () => {
  const numbers = "QPN 0x000011, PSN 0x3fa2c1";
  assertEquals(formatAddress(address, ":"), `LID 0x0000, ${numbers}: GID ::ffff:10.0.0.1`);
  const other = { ...address, lid: 0xabc, gid: Gid.parse("::") };
  assertEquals(formatAddress(other, ","), `LID 0x0abc, ${numbers}, GID ::`);
});

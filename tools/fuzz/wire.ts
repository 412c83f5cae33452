/** What the ends of connections send each other. */

import { decodeAddress, encodeAddress } from "../../cli/pingpong/address.ts";
import { Gid } from "../../mod.ts";
import { creditsOf, encodeFrame, typeOf } from "../../net/rc/frame.ts";
import { readRcAddress } from "../../net/rc/rc_address.ts";
import { readUdAddress, type UdAddress } from "../../net/ud/ud_address.ts";
import { addressText, bytes, mutated, wrong } from "./inputs.ts";
import { expected, fc, isHarmless, NONE, same, type Target, target } from "./target.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const endpoint = fc.record({
  lid: fc.nat(0xffff),
  qpn: fc.nat(0xff_ffff),
  psn: fc.nat(0xff_ffff),
  gid: bytes(16).map((bytes) => new Gid(bytes)),
});
const pingPongBytes = endpoint.map(encodeAddress);

function checkPingPong(bytes: Uint8Array<ArrayBuffer>): void {
  try {
    const address = decodeAddress(bytes);
    same(decoder.decode(encodeAddress(address)), decoder.decode(bytes).toLowerCase(), "address");
  } catch (error) {
    expected(error, SyntaxError);
  }
}

const rcAddress = fc.record({
  transport: fc.constant("rc"),
  gid: addressText,
  lid: fc.nat(0xffff),
  qpn: fc.nat(0xff_ffff),
  psn: fc.nat(0xff_ffff),
  mtu: fc.constantFrom(256, 512, 1024, 2048, 4096),
  rdAtomic: fc.nat(255),
  credits: fc.integer({ min: 1, max: 2 ** 15 }),
  maxMessage: fc.integer({ min: 1, max: 2 ** 24 }),
});
const udAddress = fc.record({
  transport: fc.constant("ud"),
  gid: addressText,
  lid: fc.nat(0xffff),
  qpn: fc.nat(0xff_ffff),
  qkey: fc.nat(0x7fff_ffff),
});

/** Addresses, most of them with a wrong part. */
function any(good: fc.Arbitrary<Record<string, unknown>>): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 2, arbitrary: good },
    fc.tuple(good, fc.nat(), wrong).map(([address, which, value]) => {
      const names = [...Object.keys(address), "other"];
      return { ...address, [names[which % names.length]!]: value };
    }),
    fc.jsonValue(),
    wrong,
  );
}

function checkRcAddress(value: unknown): void {
  try {
    const address = readRcAddress(value);
    same(readRcAddress(JSON.parse(JSON.stringify(address))), address, "address");
    same(isHarmless(JSON.stringify(address)), true, "address");
  } catch (error) {
    expected(error, Deno.errors.InvalidData);
  }
}

function checkUdAddress(value: unknown): void {
  try {
    const udAddress = readUdAddress(value as UdAddress, undefined);
    same(Number.isInteger(udAddress.qpn + udAddress.lid + udAddress.qkey), true, "numbers");
  } catch (error) {
    expected(error, TypeError, RangeError);
  }
}

function checkFrame(immData: number): void {
  const [type, credits] = [typeOf(immData), creditsOf(immData)];
  same(type >= 0 && type < 16 && credits >= 0 && credits < 2 ** 28, true, "parts");
  same(encodeFrame(type as 1, credits), immData, "frame");
}

/** What the ends of connections send each other. */
export const WIRE: readonly Target[] = [
  target(
    {
      name: "pingpong-wire",
      refused: [44, 64],
      what: "addresses of ibv_*_pingpong: random, changed, upper case",
    },
    [fc.oneof(
      pingPongBytes,
      mutated(pingPongBytes),
      bytes(52),
      bytes(0, 60),
      pingPongBytes.map((bytes) => encoder.encode(decoder.decode(bytes).toUpperCase())),
    )],
    checkPingPong,
  ),
  target(
    { name: "rc-address", refused: [70, 90], what: "addresses that peers of RcConn send as JSON" },
    [any(rcAddress)],
    checkRcAddress,
  ),
  target(
    {
      name: "ud-address",
      refused: [44, 64],
      what: "addresses of UdConn, as its callers give them",
    },
    [any(udAddress)],
    checkUdAddress,
  ),
  target(
    { name: "net-frame", refused: NONE, what: "the immediate data of net's messages" },
    [fc.oneof(fc.nat(), fc.bigInt({ min: 0n, max: 0xffff_ffffn }).map(Number))],
    checkFrame,
  ),
];

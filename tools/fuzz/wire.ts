/** What the ends of connections send each other. */

import { decodeAddress, encodeAddress } from "../../cli/peer/address.ts";
import { Protocol } from "../../net/rc/protocol.ts";
import { readRcAddress } from "../../net/rc/rc_address.ts";
import { readUdAddress, type UdAddress } from "../../net/ud/ud_address.ts";
import { addressText, bytes, endpoint, mutated, rcAddress, spoiled } from "./inputs.ts";
import { expected, fc, isHarmless, same, type Target, target } from "./target.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const good = endpoint.map(encodeAddress);
const upperCase = good.map((bytes) => encoder.encode(decoder.decode(bytes).toUpperCase()));
const pingPong = fc.oneof(good, mutated(good), bytes(52), bytes(0, 60), upperCase);

function checkPingPong(bytes: Uint8Array<ArrayBuffer>): void {
  try {
    const address = decodeAddress(bytes);
    same(decoder.decode(encodeAddress(address)), decoder.decode(bytes).toLowerCase(), "address");
  } catch (error) {
    expected(error, SyntaxError);
  }
}

const udAddress = fc.record({
  transport: fc.constant("UD"),
  gid: addressText,
  lid: fc.nat(0xffff),
  qpn: fc.nat(0xff_ffff),
  qkey: fc.nat(0x7fff_ffff),
});

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
    const udAddress = readUdAddress(value as UdAddress);
    same(Number.isInteger(udAddress.qpn + udAddress.lid + udAddress.qkey), true, "numbers");
  } catch (error) {
    expected(error, TypeError, RangeError);
  }
}

function checkFrame(immData: number): void {
  const end = new Protocol(1);
  try {
    same(end.receive(immData), immData >>> 28, "type");
    same(end.hasCredit, (immData & 2 ** 28 - 1) > 0, "credits");
  } catch (error) {
    expected(error, Deno.errors.InvalidData);
  }
}

const rcValue = spoiled(rcAddress(addressText));
const immData = fc.oneof(fc.nat(), fc.bigInt({ min: 0n, max: 0xffff_ffffn }).map(Number));

export const WIRE: readonly Target[] = [
  target("pingpong-wire", [44, 64], "addresses of ibv_*_pingpong", [pingPong], checkPingPong),
  target(
    "rc-address",
    [70, 90],
    "addresses of RcConn, as peers send them",
    [rcValue],
    checkRcAddress,
  ),
  target("ud-address", [44, 64], "addresses of UdConn", [spoiled(udAddress)], checkUdAddress),
  target("net-frame", [50, 80], "the immediate data of net's messages", [immData], checkFrame),
];

/** What the ends of connections send each other as text, and addresses against the C library. */

import { decodeAddress, encodeAddress } from "../../cli/peer/address.ts";
import { Gid, parseAddress } from "../../mod.ts";
import { Protocol } from "../../net/rc/protocol.ts";
import { readRcAddress } from "../../net/rc/rc_address.ts";
import { readUdAddress, type UdAddress } from "../../net/ud/ud_address.ts";
import { addressText, bytes, endpoint, mutated, rcAddress, spoiled } from "./inputs.ts";
import { expected, fc, isHarmless, same, target } from "./target.ts";

const decoder = new TextDecoder();

const good = endpoint.map(encodeAddress);
const pingPong = fc.oneof(good, mutated(good), bytes(52), bytes(0, 60));

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
  qpNum: fc.nat(0xff_ffff),
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
    const { qpNum, lid, qkey } = readUdAddress(value as UdAddress);
    same(Number.isInteger(qpNum + lid + qkey), true, "numbers");
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

const AF_INET = 2;
const AF_INET6 = 10;
let libc: (family: number, text: Uint8Array<ArrayBuffer>, to: Uint8Array<ArrayBuffer>) => number;

function checkAddress(text: string): void {
  libc ??= Deno.dlopen("libc.so.6", {
    inet_pton: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  }).symbols.inet_pton;
  const theirs = [[AF_INET, 4], [AF_INET6, 16]].map(([family, size]) => {
    const bytes = new Uint8Array(size!);
    // C ends a text at its first NUL.
    const ends = !text.includes("\0");
    const found = libc(family!, new TextEncoder().encode(`${text}\0`), bytes) === 1;
    return found && ends ? bytes : undefined;
  }).find((bytes) => bytes !== undefined);
  try {
    same(parseAddress(text), theirs, "parseAddress()");
    same(Gid.parse(text).equals(Gid.parse(Gid.parse(text).toString())), true, "Gid");
  } catch (error) {
    if (theirs !== undefined) throw error;
    expected(error, SyntaxError);
  }
}

const rcValue = spoiled(rcAddress(addressText));
const immData = fc.integer({ min: 0, max: 0xffff_ffff });

export const TEXTS = [
  target("address-text", "addresses against inet_pton()", addressText, checkAddress),
  target("pingpong-wire", "addresses of ibv_*_pingpong", pingPong, checkPingPong),
  target("rc-address", "addresses of RcConn, as peers send them", rcValue, checkRcAddress),
  target("ud-address", "addresses of UdConn", spoiled(udAddress), checkUdAddress),
  target("net-frame", "the immediate data of net's messages", immData, checkFrame),
];

import { assertEquals, assertThrows } from "@std/assert";
import {
  boolean,
  byteArray,
  callable,
  classOf,
  copyOfBytes,
  instanceOf,
  integer,
  listOf,
  positiveInt,
  show,
  snapshot,
  text,
  uint16,
  uint24,
  uint32,
  uint64,
  uint8,
} from "../../../internal/checks.ts";

const RANGES: [(value: number, what: string) => number, number, number][] = [
  [uint8, 0, 0xff],
  [uint16, 0, 0xffff],
  [uint24, 0, 0xff_ffff],
  [uint32, 0, 0xffff_ffff],
  [positiveInt, 1, 0x7fff_ffff],
  [(value, what) => integer(value, what, -5, 5), -5, 5],
];

for (const [check, min, max] of RANGES) {
  Deno.test(`A check from ${min} to ${max} takes its ends, and throws beyond them`, () => {
    assertEquals([check(min, "x"), check(max, "x")], [min, max]);
    for (const value of [min - 1, max + 1]) {
      const message = `Cannot use x ${value}: it is not within ${min} to ${max}`;
      assertThrows(() => check(value, "x"), RangeError, message);
    }
  });
}

Deno.test("integer() throws a TypeError when the value is no integer", () => {
  for (const value of [NaN, Infinity, 1.5, "1", 1n, null, undefined, true]) {
    const message = `Cannot use x ${show(value)}: it is not an integer`;
    assertThrows(() => uint8(value as number, "x"), TypeError, message);
  }
});

Deno.test("byteArray() says how to make bytes of a text and of a buffer", () => {
  const refused = (value: unknown, words: string): unknown =>
    assertThrows(() => byteArray(value as Uint8Array, "message"), TypeError, words);
  refused("hello", "it is not a Uint8Array; new TextEncoder().encode() makes one of a text");
  refused(new ArrayBuffer(8), "it is not a Uint8Array; new Uint8Array(buffer) is one");
});

Deno.test("uint64() takes bigints that fit 64 bits and integers up to 2^53 - 1", () => {
  const max = 0xffff_ffff_ffff_ffffn;
  assertEquals([uint64(0n, "x"), uint64(max, "x"), uint64(7, "x")], [0n, max, 7n]);
  assertEquals(uint64(Number.MAX_SAFE_INTEGER, "x"), 2n ** 53n - 1n);
  for (const value of [-1n, max + 1n, -1, 2 ** 53]) {
    assertThrows(() => uint64(value, "x"), RangeError);
  }
  for (const value of ["1", undefined, null, 1.5, NaN, {}]) {
    assertThrows(() => uint64(value as unknown as bigint, "x"), TypeError);
  }
});

Deno.test("boolean(), text(), callable() and instanceOf() name the value they refuse", () => {
  const bytes = new Uint8Array();
  assertEquals([boolean(true, "x"), boolean(false, "x"), text("", "x")], [true, false, ""]);
  assertEquals(instanceOf(bytes, Uint8Array, "x"), bytes);
  assertThrows(() => boolean(1 as unknown as boolean, "x"), TypeError, "Cannot use x 1");
  assertThrows(() => text(1 as unknown as string, "x"), TypeError, "x 1: it is not a string");
  assertEquals(callable(assertEquals, "x"), assertEquals);
  assertThrows(() => callable({}, "x"), TypeError, "Cannot use x an object: it is not a function");
  for (const value of [null, undefined, {}, Uint8Array, "now"]) {
    assertThrows(() => instanceOf(value, Uint8Array, "x"), TypeError, "it is not a Uint8Array");
    assertThrows(() => instanceOf(value, AbortSignal, "x"), TypeError, "it is not an AbortSignal");
  }
  const message = "Cannot use x a Map: it is not a Uint8Array";
  assertThrows(() => instanceOf(new Map(), Uint8Array, "x"), TypeError, message);
});

Deno.test("listOf() copies a list once, however it changes while it is read", () => {
  let reads = 0;
  const growing = new Proxy([1, 2], {
    get: (target, name, receiver) => {
      if (name === "length") reads++;
      if (name === "0") target.push(9);
      return Reflect.get(target, name, receiver);
    },
  });
  assertEquals(listOf(growing, "x"), [1, 2]);
  assertEquals(reads, 1);
  assertThrows(() => listOf({ length: 1 } as unknown as number[], "x"), TypeError, "not an array");
  const message = "Cannot use x: it has 4294967295 elements, and at most 1048576 are possible";
  assertThrows(() => listOf(new Array(2 ** 32 - 1), "x"), RangeError, message);
});

Deno.test("listOf() makes a plain array, whatever the caller's array makes of itself", () => {
  class Odd extends Array<number> {
    static override get [Symbol.species](): ArrayConstructor {
      return Odd as unknown as ArrayConstructor;
    }
  }
  assertEquals(listOf(Odd.of(1, 2), "x").constructor, Array);
});

Deno.test("snapshot() reads each property once and refuses unknown names", () => {
  let reads = 0;
  const source = {
    get a() {
      return ++reads;
    },
    b: undefined,
  };
  type Things = { a?: number; b?: number | undefined; c?: number };
  const copy = snapshot<Things>(source, "things", ["a", "b", "c"]);
  assertEquals([copy.a, copy.a, "b" in copy, reads], [1, 1, false, 1]);
  for (const value of [null, undefined, 5, "a"]) {
    const wrong = value as unknown as { a: number };
    assertThrows(() => snapshot(wrong, "things", ["a"]), TypeError, "it is not an object");
  }
  const unknown = (): unknown => snapshot({ a: 1, A: 2 } as { a: number }, "things", ["a"]);
  assertThrows(unknown, TypeError, 'Cannot use things: there is no attribute "A"; it is "a"');
  const inC = (): unknown =>
    snapshot({ send_cq: 1 } as object, "things", ["recvCq", "sendCq"] as never[]);
  assertThrows(inC, TypeError, 'there is no attribute "send_cq"; it is "sendCq"');
  const { signal } = new AbortController();
  const nouns: [object, string[], string][] = [
    [{ qp_type: 2 }, ["qpType"], 'there is no attribute "qp_type"; it is "qpType"'],
    [{ type: 2 }, ["qpType"], 'there is no attribute "type"; it is "qpType"'],
    [{ type: 2 }, ["srqType"], 'there is no attribute "type"; it is "srqType"'],
    [{ type: 2 }, ["type", "qpType"], ""],
    [{ imm: 2 }, ["immData"], '; it is "immData"'],
    [{ qpn: 2 }, ["qpNum"], '; it is "qpNum"'],
    [{ qpn: 2 }, ["remoteQpn"], '; it is "remoteQpn"'],
    [{ source: 2 }, ["srcAddr"], '; it is "srcAddr"'],
    [{ timeout: 5 }, ["signal"], "; give signal: AbortSignal.timeout(milliseconds)"],
    [{ timeout: 5 }, ["signal", "timeout"], ""],
    [
      { hostname: "10.0.0.1" },
      ["device", "gidIndex"],
      "; `device` and `gidIndex` choose the address",
    ],
    [{ hostname: "10.0.0.1" }, ["device", "hostname"], ""],
    [
      { timeout: 14 },
      ["signal", "connectTimeout"],
      "; connectTimeout is in milliseconds, ackTimeout is",
    ],
    [{ address: "10.0.0.1" }, ["device", "hostname"], '; it is "hostname"'],
    [{ hostname: "10.0.0.1" }, ["portNum", "gidIndex"], "there is no attribute"],
    [{ timeout: 1 }, ["maxQueued", "signal"], "; each call takes signal: AbortSignal.timeout("],
    [{ sgList: [] }, ["sge"], '; it is "sge", one element or an array'],
    [{ data: [] }, ["sge"], "; write { sge: mr.sge(offset, length) }"],
    [{ attr: {} }, ["maxWr"], "; its attributes stand here"],
    [{ port: 1 }, ["portNum"], '; it is "portNum"'],
    [{ portNum: 1 }, ["port"], '; it is "port"'],
    [{ gidIndex: 1 }, ["dgid", "sgidIndex"], '; it is "sgidIndex"'],
    [{ accessFlags: 1 }, ["qpAccessFlags"], '; it is "qpAccessFlags"'],
    [{ retryCnt: 1 }, ["retryCount"], '; it is "retryCount"'],
    [{ flags: 1 }, ["sendFlags"], '; it is "sendFlags"'],
    [{ flags: 1 }, ["flags", "sendFlags"], ""],
    [{ signal }, ["responderResources"], "; it is in the options, the next argument"],
    [{ sg_list: [] }, ["sge"], '; it is "sge", one element or an array'],
    [{ remote_qp_num: 1 }, ["remoteQpn"], 'no attribute "remote_qp_num"'],
    [{ srcAddr: 1 }, ["source"], 'no attribute "srcAddr"'],
    [{ timeoutMs: 1 }, ["timeout"], 'no attribute "timeoutMs"'],
    [{ port: 1 }, ["portNum", "maxQueued"], "peers do not find it by a port: give them its addr"],
    [{ cq: {} }, ["sendCq", "recvCq"], "; give sendCq and recvCq, which may be the same queue"],
    [{ number: 1 }, ["immData"], '; it is "immData"'],
    [{ wr: {} }, ["remoteQpn"], "; its attributes stand in the request itself"],
  ];
  for (const [source, names, words] of nouns) {
    const read = (): unknown => snapshot(source, "things", names as never[]);
    if (words === "") read();
    else assertThrows(read, TypeError, words);
  }
  assertThrows(
    () => snapshot<object>(signal, "options", ["signal"] as never[]),
    TypeError,
    "Cannot use options: it is an AbortSignal: write { signal }",
  );
});

Deno.test("snapshot() refuses objects of classes without the attributes, and says what they are", () => {
  class Things {
    get a(): number {
      return 1;
    }
  }
  class Unset {
    a = undefined;
  }
  const things = [new Things(), Object.create({ a: 1 }), Object.create(new Things())];
  for (const right of [...things, {}, Object.create(null), new Unset()]) {
    const expected = things.includes(right) ? ["a"] : [];
    assertEquals(Object.keys(snapshot(right, "things", ["a"])), expected);
  }
  const wrong: [object, string][] = [
    [Promise.resolve(), "a Promise"],
    [new Map([["a", 1]]), "a Map"],
    [new Date(), "a Date"],
    [Object.create(Object.create({})), "an object"],
  ];
  for (const [value, name] of wrong) {
    const message = `Cannot use things: ${name} has none of the attributes`;
    const take = (): unknown => snapshot(value as { a?: number }, "things", ["a"]);
    assertThrows(take, TypeError, message);
  }
});

Deno.test("classOf() gives the class of an object, and shows other values", () => {
  const values: [unknown, string][] = [
    [1, "1"],
    [null, "null"],
    [[], "an array"],
    [{}, "an object"],
    [Object.create(null), "an object"],
    [new Date(), "a Date"],
    [new Uint8Array(), "a Uint8Array"],
    [new class Event {}(), "an Event"],
    [Object.create({ constructor: null }), "an object"],
    [Object.create({ constructor: { name: 5 } }), "an object"],
    [new class {}(), "an object"],
  ];
  for (const [value, kind] of values) assertEquals(classOf(value), kind);
});

Deno.test("show() keeps messages short, and escapes what a terminal obeys", () => {
  const values: [unknown, string][] = [
    ["a", '"a"'],
    [5n, "5n"],
    [() => 1, "a function"],
    [Symbol("a"), "a symbol"],
    [null, "null"],
    [[1], "an array"],
    [{}, "an object"],
    // Text can come from a peer.
    [
      "\x1b[2J\x7f\u009b1m\u202e\u2028é",
      String.raw`"\u001b[2J\u{7f}\u{9b}1m\u{202e}\u{2028}é"`,
    ],
  ];
  for (const [value, text] of values) assertEquals(show(value), text);
  assertEquals(show("x".repeat(40)), `"${"x".repeat(40)}"`);
  assertEquals(show("x".repeat(41)), `"${"x".repeat(40)}..."`);
});

Deno.test("copyOfBytes() copies, and names bytes that are not or no longer there", () => {
  const bytes = new Uint8Array([1, 2]);
  const copy = copyOfBytes(bytes, "x");
  bytes[0] = 9;
  assertEquals([...copy], [1, 2]);
  bytes.buffer.transfer();
  assertThrows(() => copyOfBytes(bytes, "x"), TypeError, "Cannot use x: its buffer is detached");
  const buffer = new ArrayBuffer(64, { maxByteLength: 64 });
  const part = new Uint8Array(buffer, 32, 8);
  buffer.resize(8);
  assertThrows(() => copyOfBytes(part, "x"), TypeError, "Cannot use x: its buffer is detached");
  for (const value of ["1", null, [1], new Uint16Array(1)]) {
    assertThrows(() => copyOfBytes(value, "x"), TypeError, "it is not a Uint8Array");
  }
});

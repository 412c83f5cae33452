import { assertEquals, assertThrows } from "@std/assert";
import { enums } from "../../../ffi/layout.ts";
import {
  MAX_RSS_INPUT,
  type RssFlow,
  rssInput,
  writeRssInput,
} from "../../../types/rss/rss_flow.ts";

const FIELD = enums.ibv_rx_hash_fields;
const IPV4 = FIELD.IBV_RX_HASH_SRC_IPV4 | FIELD.IBV_RX_HASH_DST_IPV4;
const IPV6 = FIELD.IBV_RX_HASH_SRC_IPV6 | FIELD.IBV_RX_HASH_DST_IPV6;
const TCP = FIELD.IBV_RX_HASH_SRC_PORT_TCP | FIELD.IBV_RX_HASH_DST_PORT_TCP;
const UDP = FIELD.IBV_RX_HASH_SRC_PORT_UDP | FIELD.IBV_RX_HASH_DST_PORT_UDP;

const tcp4: RssFlow = {
  srcIp: "1.2.3.4",
  dstIp: "5.6.7.8",
  protocol: "tcp",
  srcPort: 0x1112,
  dstPort: 0x1314,
};
const udp4: RssFlow = { ...tcp4, protocol: "udp" };
const tcp6: RssFlow = { ...tcp4, srcIp: "::1", dstIp: "fe80::2" };

function hex(flow: RssFlow, fields: number, symmetric = false): string {
  return rssInput(flow, fields, { symmetric }).toHex();
}

Deno.test("rssInput() takes each subset of the fields, in the order of the packet", () => {
  const parts: [field: number, hex: string][] = [
    [FIELD.IBV_RX_HASH_SRC_IPV4, "01020304"],
    [FIELD.IBV_RX_HASH_DST_IPV4, "05060708"],
    [FIELD.IBV_RX_HASH_SRC_PORT_TCP, "1112"],
    [FIELD.IBV_RX_HASH_DST_PORT_TCP, "1314"],
  ];
  for (let subset = 0; subset < 16; subset++) {
    const chosen = parts.filter((_, i) => subset >> i & 1);
    const fields = chosen.reduce((sum, [field]) => sum | field, 0);
    assertEquals(hex(tcp4, fields), chosen.map(([_, part]) => part).join(""));
  }
});

const mapped = { srcIp: "::ffff:1.2.3.4", dstIp: "::ffff:5.6.7.8" };
const INPUTS: [flow: RssFlow, fields: number, hex: string][] = [
  [tcp6, FIELD.IBV_RX_HASH_SRC_IPV6, `${"0".repeat(31)}1`],
  [tcp6, FIELD.IBV_RX_HASH_DST_IPV6, "fe800000000000000000000000000002"],
  [tcp6, FIELD.IBV_RX_HASH_DST_PORT_TCP, "1314"],
  // The ports of a protocol that is not selected.
  [udp4, IPV4 | TCP, "0102030405060708"],
  [tcp4, IPV4 | UDP, "0102030405060708"],
  [{ srcIp: "1.2.3.4", dstIp: "5.6.7.8" }, IPV4 | TCP, "0102030405060708"],
  [udp4, IPV4 | UDP, "010203040506070811121314"],
  [udp4, TCP, ""],
  // Ports alone, and the other family.
  [tcp4, IPV6 | TCP, ""],
  [tcp6, IPV4 | TCP, ""],
  [tcp4, 0, ""],
  // An IPv4-mapped address is one of IPv6.
  [mapped, IPV4, ""],
  [mapped, IPV6, "00000000000000000000ffff0102030400000000000000000000ffff05060708"],
];

Deno.test("rssInput() takes the fields that the flow has", () => {
  for (const [flow, fields, expected] of INPUTS) assertEquals(hex(flow, fields), expected);
});

Deno.test("rssInput() does not depend on the direction when symmetric", () => {
  assertEquals(hex(tcp4, IPV4 | TCP, true), "0506070c0404040c" + "13160206");
  for (const flow of [tcp4, tcp6]) {
    const back: RssFlow = {
      ...flow,
      srcIp: flow.dstIp,
      dstIp: flow.srcIp,
      srcPort: flow.dstPort,
      dstPort: flow.srcPort,
    };
    assertEquals(hex(flow, IPV4 | IPV6 | TCP, true), hex(back, IPV4 | IPV6 | TCP, true));
  }
});

Deno.test("rssInput() mixes no single field when symmetric", () => {
  const fields = FIELD.IBV_RX_HASH_DST_IPV4 | FIELD.IBV_RX_HASH_SRC_PORT_TCP;
  assertEquals(hex(tcp4, fields, true), hex(tcp4, fields));
});

Deno.test("rssInput() takes addresses as bytes, and the fields of the inner packet", () => {
  const source = new Uint8Array([1, 2, 3, 4]);
  const inner = (IPV4 | FIELD.IBV_RX_HASH_INNER) >>> 0;
  assertEquals(hex({ ...tcp4, srcIp: source }, inner), "0102030405060708");
  assertEquals(source, new Uint8Array([1, 2, 3, 4]));
});

/** What is no flow, or selects fields whose place is not known. */
const REFUSED: [flow: unknown, fields: number, error: typeof TypeError, message: string][] = [
  [tcp4, FIELD.IBV_RX_HASH_IPSEC_SPI, RangeError, "Cannot predict a hash"],
  [tcp4, 1 << 20, RangeError, "Cannot predict a hash"],
  [tcp4, -1, RangeError, "Cannot use fields"],
  [tcp4, 2 ** 32, RangeError, "Cannot use fields"],
  [{ ...tcp4, srcIp: new Uint8Array(6) }, IPV4, RangeError, "Cannot hash address of 6 bytes"],
  [{ ...tcp4, srcIp: "::1" }, IPV4, RangeError, "families"],
  [{ ...tcp4, srcIp: "1.2.3" }, IPV4, SyntaxError, '"1.2.3"'],
  [{ ...tcp4, srcPort: 65536 }, TCP, RangeError, "Cannot use srcPort 65536"],
];

Deno.test("rssInput() refuses a flow that is none, and fields that are not known", () => {
  for (const [flow, fields, error, message] of REFUSED) {
    assertThrows(() => rssInput(flow as RssFlow, fields), error, message);
  }
});

Deno.test("rssInput() throws on a missing port when it is selected, and only then", () => {
  const { dstPort: _, ...portless } = tcp4;
  assertThrows(() => rssInput(portless, TCP), TypeError, "dstPort is missing");
  assertEquals(hex(portless, FIELD.IBV_RX_HASH_SRC_PORT_TCP), "1112");
  const { srcPort: __, ...sourceless } = tcp4;
  assertThrows(() => rssInput(sourceless, TCP), TypeError, "srcPort is missing");
  assertEquals(hex(sourceless, FIELD.IBV_RX_HASH_DST_PORT_TCP), "1314");
  assertEquals(hex(portless, IPV4 | UDP), "0102030405060708");
});

Deno.test("writeRssInput() needs room for the longest input, whatever the flow", () => {
  for (const length of [0, 12, MAX_RSS_INPUT - 1]) {
    assertThrows(
      () => writeRssInput(new Uint8Array(length), tcp4, IPV4),
      RangeError,
      `Cannot use input of ${length} bytes: 36 are needed`,
    );
  }
});

Deno.test("writeRssInput() can use one buffer for flow after flow", () => {
  const input = new Uint8Array(MAX_RSS_INPUT);
  for (const flow of [tcp6, tcp4, udp4]) {
    const length = writeRssInput(input, flow, IPV4 | IPV6 | TCP | UDP);
    assertEquals(input.subarray(0, length).toHex(), hex(flow, IPV4 | IPV6 | TCP | UDP));
  }
});

Deno.test("writeRssInput() refuses a buffer that a getter of the caller transfers", () => {
  const input = new Uint8Array(MAX_RSS_INPUT);
  const options = {
    get symmetric(): boolean {
      input.buffer.transfer();
      return true;
    },
  };
  const message = "Cannot use input of 0 bytes";
  assertThrows(() => writeRssInput(input, tcp4, IPV4, options), RangeError, message);
});

Deno.test("rssInput() leaves out the ports of a flow that is neither TCP nor UDP", () => {
  const { protocol: _, srcPort: __, dstPort: ___, ...other } = tcp4;
  assertEquals(hex(other, IPV4 | TCP | UDP), "0102030405060708");
});

// How the packets between two hosts are read and compared with what was posted.
import { assertEquals } from "@std/assert";
import type { ConnectedStream, UdStream } from "../../hosts/expected.ts";
import { faultOf } from "../../../tools/hosts/judge.ts";
import { type Packet, packetOf } from "../../../tools/hosts/packets.ts";

// As tshark 4.0 prints them.
const UD_LINE =
  "26\t52:54:00:00:01:02\t52:54:00:00:01:01\t10.0.0.2\t10.0.0.1\t0x28\t64\t\t\t\t\t\t100\t65535" +
  "\t0x000011\t8558105\t2\t0x0000000011111111\t0x00000012" +
  "\t6420ffff00000011008296191111111100000012c0ffee0102030000f93fb8f3";
const RC_LINE =
  "7\t52:54:00:00:01:01\t52:54:00:00:01:02\t\t\t\t\tfd00::1\tfd00::2\t0x48\t63\t0x00005\t4\t65535" +
  "\t0x000013\t9\t0\t\t\t0420ffff0000001380000009c0ffeec0f93fb8f3";

const UD_PACKET: Packet = {
  frame: 26,
  host: 2,
  link: "52:54:00:00:01:01",
  src: "10.0.0.2",
  dst: "10.0.0.1",
  trafficClass: 0x28,
  hopLimit: 64,
  flowLabel: 0,
  opcode: 100,
  pkey: 0xffff,
  destQp: 0x11,
  psn: 8558105,
  qkey: 0x1111_1111,
  srcQp: 0x12,
  payload: "c0ffee010203",
};

Deno.test("packetOf() reads a datagram without the bytes that fill it up, and IPv6", () => {
  assertEquals(packetOf(UD_LINE.split("\t")), UD_PACKET);
  const { src, trafficClass, hopLimit, flowLabel, destQp, srcQp, payload } = packetOf(
    RC_LINE.split("\t"),
  );
  assertEquals([src, destQp, srcQp, payload], ["fd00::1", 0x13, NaN, "c0ffeec0"]);
  assertEquals([trafficClass, hopLimit, flowLabel], [0x48, 63, 5]);
});

const { src, dst, trafficClass, hopLimit, destQp, qkey, payload } = UD_PACKET;
const DATAGRAM = { src, dst, trafficClass, hopLimit, destQp, qkey, payload };
const UD_STREAM: UdStream = {
  kind: "ud",
  host: 2,
  srcQp: 0x12,
  psn: 0xff_ffff,
  packets: [DATAGRAM, { ...DATAGRAM, payload: "00" }],
};
const UD_PACKETS: readonly Packet[] = [
  { ...UD_PACKET, psn: 0xff_ffff },
  // Another host has a queue pair with the same number.
  { ...UD_PACKET, host: 1 },
  { ...UD_PACKET, psn: 0, payload: "00" },
];

Deno.test("faultOf() finds each field of a datagram that is another one, and no other fault", () => {
  assertEquals(faultOf(UD_STREAM, UD_PACKETS), undefined);
  const others = {
    ...{ src: "10.0.0.9", dst: "10.0.0.9", trafficClass: 0, hopLimit: 1, flowLabel: 1 },
    ...{ opcode: 101, pkey: 0x7fff, destQp: 1, psn: 1, qkey: 1, payload: "01" },
  };
  for (const [name, value] of Object.entries(others)) {
    const packets = UD_PACKETS.with(2, { ...UD_PACKETS[2]!, [name]: value });
    assertEquals(
      faultOf(UD_STREAM, packets),
      `packets of host 2 of queue pair 18: frame 26: ${name} is ${value}, not ${
        UD_PACKETS[2]![name as keyof Packet]
      }`,
    );
  }
});

for (
  const [group, link] of [["239.129.2.4", "01:00:5e:01:02:04"], ["ff0e::1:77", "33:33:00:01:00:77"]]
) {
  Deno.test(`faultOf() takes datagrams to ${group} that go to its Ethernet address`, () => {
    const stream = { ...UD_STREAM, psn: 0, packets: [{ ...DATAGRAM, dst: group! }] };
    const packet = { ...UD_PACKET, psn: 0, dst: group!, link: link! };
    assertEquals(faultOf(stream, [packet]), undefined);
    assertEquals(faultOf(stream, [{ ...packet, link: UD_PACKET.link }]) === undefined, false);
  });
}

Deno.test("faultOf() finds a datagram too few, or one too many", () => {
  const of = "packets of host 2 of queue pair 18: there are";
  assertEquals(faultOf(UD_STREAM, UD_PACKETS.slice(0, 1)), `${of} 1, not 2`);
  assertEquals(faultOf(UD_STREAM, [...UD_PACKETS, UD_PACKETS[0]!]), `${of} 3, not 2`);
});

const RC_STREAM: ConnectedStream = {
  kind: "connected",
  host: 1,
  src,
  dst,
  srcQp: 9,
  destQp,
  psn: 0xff_ffff,
  trafficClass,
  opcodes: [0, 2, 4],
  requests: ["aabb", "cc"],
  answers: ["ddee", "ff"],
};
const LINK = "52:54:00:00:01:02";
const RC_PACKET: Packet = { ...UD_PACKET, host: 1, link: LINK, qkey: NaN, srcQp: NaN };
const BEGIN = { ...RC_PACKET, opcode: 0, psn: 0xff_ffff, payload: "aa" };
const END = { ...RC_PACKET, opcode: 2, psn: 0, payload: "bb" };
const ONLY = { ...RC_PACKET, opcode: 4, psn: 1, payload: "cc" };
const ANSWER = { ...RC_PACKET, host: 2, destQp: 9 };
const ANSWERS = [
  { ...ANSWER, opcode: 13, psn: 0xff_ffff, payload: "dd" },
  { ...ANSWER, opcode: 15, psn: 0, payload: "ee" },
  { ...ANSWER, opcode: 16, psn: 1, payload: "ff" },
];
const RC_PACKETS: readonly Packet[] = [BEGIN, END, ONLY, ...ANSWERS];

const RC_FAULTS: Record<string, [packets: Packet[], fault: string]> = {
  "no packet": [[], "opcodes: , not 0,2,4"],
  "another traffic class": [
    [BEGIN, END, { ...ONLY, trafficClass: 1 }],
    "frame 26: trafficClass is 1, not 40",
  ],
  "another destination": [
    [BEGIN, { ...END, dst: "::" }, ONLY],
    "frame 26: dst is ::, not 10.0.0.1",
  ],
  "another operation": [[BEGIN, END, { ...ONLY, opcode: 10 }], "opcodes: 0,2,10, not 0,2,4"],
  "a request too many": [
    [...RC_PACKETS, { ...ONLY, psn: 2 }],
    "number of requests: 3, not 2",
  ],
  "another first number": [
    RC_PACKETS.map((packet) => ({ ...packet, psn: packet.psn + 1 & 0xff_ffff })),
    "distance of the first packet sequence number: 1, not 0",
  ],
  "a gap": [[BEGIN, END, { ...ONLY, psn: 2 }], "a packet sequence number is missing"],
  "other data": [[BEGIN, { ...END, payload: "bc" }, ONLY], "data of request 0: aabc, not aabb"],
  "data that is repeated otherwise": [
    [BEGIN, END, ONLY, { ...ONLY, payload: "00" }],
    "data of request 1: repeated otherwise, not cc",
  ],
  "another hop limit": [[{ ...BEGIN, hopLimit: 7 }], "frame 26: hopLimit is 7, not 64"],
  "a flow label": [[{ ...BEGIN, flowLabel: 7 }], "frame 26: flowLabel is 7, not 0"],
  "no answer": [[BEGIN, END, ONLY], "number of answers with data: 0, not 2"],
  "another answer": [
    [BEGIN, END, ONLY, ...ANSWERS.with(1, { ...ANSWERS[1]!, payload: "00" })],
    "data of answer 0: dd00, not ddee",
  ],
};

for (const [name, [packets, fault]] of Object.entries(RC_FAULTS)) {
  Deno.test(`faultOf() finds ${name} in a connection`, () => {
    assertEquals(faultOf(RC_STREAM, packets), `packets of host 1 to queue pair 17: ${fault}`);
  });
}

Deno.test("faultOf() takes repeated requests, and leaves out answers", () => {
  const acknowledgement = { ...ONLY, opcode: 17, psn: 500 };
  const packets = [...RC_PACKETS, ONLY, acknowledgement, UD_PACKET];
  assertEquals(faultOf(RC_STREAM, packets), undefined);
});

/** Messages, remote memory and atomics of connected queue pairs. */

import { assertEquals } from "@std/assert";
import {
  type Context,
  ProtectionDomain,
  type QpAddress,
  QpType,
  type SendAttributes,
  type SendRequest,
  type WorkCompletion,
  WrOpcode,
} from "../../../mod.ts";

import {
  type End,
  gidOf,
  makeEnd,
  openRxe,
  PORT,
  REMOTE_ACCESS,
  waitFor,
} from "../../device/setup.ts";
import type { HostCase, Run } from "../host_case.ts";
import { ipOf } from "../network.ts";

/** What each side tells the other. */
interface Place {
  readonly address: QpAddress;
  readonly addr: string;
  readonly rkey: number;
}

/** A kind of request. */
interface Operation {
  readonly type: QpType;
  /** Codes of the base transport header of its packets. */
  readonly opcodes: readonly number[];
  readonly request: (number: number) => SendAttributes;
  /** Whether a request consumes a receive. */
  readonly receives?: boolean;
  /** Whether a request names memory of the second host. */
  readonly isRemote?: boolean;
  /** 8 bytes for atomics. */
  readonly length?: number;
  /** Whether the data comes from the memory of the second host. */
  readonly reads?: boolean;
  /** What an atomic must leave in the peer's memory. */
  readonly left?: (number: number) => bigint;
}

const ADDEND = 0x0102_0304_0506_0708n;
const SWAP = 0x1122_3344_5566_7788n;

const OPERATIONS: Readonly<Record<string, Operation>> = {
  "RC sends arrive": {
    type: QpType.RC,
    opcodes: [0, 1, 2, 4],
    request: () => ({}),
    receives: true,
  },
  "RC sends with immediate data arrive": {
    type: QpType.RC,
    opcodes: [0, 1, 3, 5],
    request: (number) => ({ opcode: WrOpcode.SEND_WITH_IMM, immData: number }),
    receives: true,
  },
  "UC sends arrive": {
    type: QpType.UC,
    opcodes: [0x20, 0x21, 0x22, 0x24],
    request: () => ({}),
    receives: true,
  },
  "RDMA writes are in the peer's memory": {
    type: QpType.RC,
    opcodes: [6, 7, 8, 10],
    request: () => ({ opcode: WrOpcode.RDMA_WRITE }),
    isRemote: true,
  },
  "RDMA writes with immediate data are in the peer's memory": {
    type: QpType.RC,
    opcodes: [6, 7, 9, 11],
    request: (number) => ({ opcode: WrOpcode.RDMA_WRITE_WITH_IMM, immData: number }),
    receives: true,
    isRemote: true,
  },
  "RDMA reads bring the peer's memory": {
    type: QpType.RC,
    opcodes: [12],
    request: () => ({ opcode: WrOpcode.RDMA_READ }),
    isRemote: true,
    reads: true,
  },
  "Fetch-and-add changes the peer's memory": {
    type: QpType.RC,
    opcodes: [20],
    request: () => ({ opcode: WrOpcode.ATOMIC_FETCH_AND_ADD, compareAdd: ADDEND }),
    isRemote: true,
    length: 8,
    reads: true,
    left: (number) => BigInt.asUintN(64, valueOf(number) + ADDEND),
  },
  "Compare-and-swap changes the peer's memory if it has the value": {
    type: QpType.RC,
    opcodes: [19],
    request: (number) => ({
      opcode: WrOpcode.ATOMIC_CMP_AND_SWP,
      compareAdd: valueOf(number) + (isUnequal(number) ? 1n : 0n),
      swap: SWAP,
    }),
    isRemote: true,
    length: 8,
    reads: true,
    left: (number) => isUnequal(number) ? valueOf(number) : SWAP,
  },
};

/** Requests in progress; each has a slot of memory on both sides. */
const WINDOW = 4;
const SLOT = 16_384;
/** Up to and beyond one packet. */
const LENGTHS = [1, 1000, 1024, 1025, 4096, 10_000];
/** All packets of a connection carry it. */
const TRAFFIC_CLASS = 0x48;
/** What Linux 6.1 does not send: packets have the hop limit of the route and no flow label. */
const UNSENT = { hopLimit: 7, flowLabel: 0xabcde } as const;
/** 0.5 s before each of 6 retries: a guest that stands still does not break the connection. */
const PATIENT = { timeout: 17, retryCnt: 6 } as const;

/** The data of the message with that number. */
function dataOf(number: number, length = LENGTHS[number % LENGTHS.length]!): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => number * 7 + i + (i >> 8));
}

/** The first 8 bytes of that data, as an atomic takes them. */
function valueOf(number: number): bigint {
  return new DataView(dataOf(number, 8).buffer).getBigUint64(0, true);
}

/** The data that the answer has on the network: an atomic gives what there was as a number. */
function answerOf({ length }: Operation, number: number): string {
  const data = dataOf(number, length);
  return (length === undefined ? data : data.reverse()).toHex();
}

/** Whether the compare-and-swap with that number expects another value than there is. */
function isUnequal(number: number): boolean {
  return number % 3 === 0;
}

/** One side of a connection. */
interface Side extends End, Disposable {
  readonly peer: Place;
  readonly own: Place;
}

async function connect(run: Run, type: QpType): Promise<Side> {
  using stack = new DisposableStack();
  const context: Context = stack.use(openRxe());
  const pd = new ProtectionDomain(context);
  const end = makeEnd(pd, type);
  const { qp, mr } = end;
  const { gidIndex } = gidOf(context, "ipv4");
  qp.init({ portNum: PORT, gidIndex, qpAccessFlags: REMOTE_ACCESS });
  const own = { address: qp.address, addr: String(mr.addr), rkey: mr.rkey };
  const peer = await run.session.swap<Place>(own);
  const route = { ...UNSENT, trafficClass: TRAFFIC_CLASS };
  if (type === QpType.RC) qp.activateRc(peer.address, { ...PATIENT, ...route });
  else qp.activateUc(peer.address, route);
  await run.session.swap("connected");
  const owned = stack.move();
  return { ...end, own, peer, [Symbol.dispose]: () => owned.dispose() };
}

/** The numbers of the messages, as many at a time as there are slots. */
function* windows(messages: number): Generator<number[]> {
  for (let from = 0; from < messages; from += WINDOW) {
    yield Array.from({ length: Math.min(WINDOW, messages - from) }, (_, i) => from + i);
  }
}

const slotOf = (number: number): number => number % WINDOW * SLOT;

async function request(run: Run, operation: Operation): Promise<void> {
  using side = await connect(run, operation.type);
  const { qp, cq, mr, own, peer } = side;
  for (const numbers of windows(run.messages)) {
    await run.session.receive();
    for (const number of numbers) {
      const data = dataOf(number, operation.length);
      const sge = mr.slice(slotOf(number), data.length);
      if (operation.reads) sge.bytes.fill(0);
      else sge.bytes.set(data);
      const remoteAddr = BigInt(peer.addr) + BigInt(slotOf(number));
      const remote = operation.isRemote ? { remoteAddr, rkey: peer.rkey } : {};
      qp.postSend({ sge, ...operation.request(number), ...remote } as SendRequest);
    }
    for (const wc of await waitFor(cq, numbers.length)) wc.check();
    for (const number of operation.reads ? numbers : []) {
      const data = dataOf(number, operation.length);
      assertEquals(mr.bytes(slotOf(number), data.length), data);
      run.count(1);
    }
    await run.session.send("posted");
  }
  const numbers = Array.from({ length: run.messages }, (_, i) => i);
  run.expect({
    kind: "connected",
    host: run.session.host,
    src: ipOf(own.address.gid!),
    dst: ipOf(peer.address.gid!),
    srcQp: own.address.qpn,
    destQp: peer.address.qpn,
    psn: own.address.psn,
    trafficClass: TRAFFIC_CLASS,
    opcodes: operation.opcodes,
    requests: numbers.map((number) => operation.reads ? "" : dataOf(number).toHex()),
    answers: operation.reads ? numbers.map((number) => answerOf(operation, number)) : [],
  });
}

async function serve(run: Run, operation: Operation): Promise<void> {
  using side = await connect(run, operation.type);
  const { qp, cq, mr } = side;
  for (const numbers of windows(run.messages)) {
    for (const number of numbers) {
      const sge = mr.slice(slotOf(number), SLOT);
      sge.bytes.fill(0);
      if (operation.reads) sge.bytes.set(dataOf(number, operation.length));
      if (operation.receives) qp.postRecv({ wrId: number, sge });
    }
    await run.session.send("ready");
    const received = operation.receives ? await waitFor(cq, numbers.length) : [];
    await run.session.receive();
    numbers.forEach((number, i) => check(side, operation, number, received[i]));
    if (!operation.reads) run.count(numbers.length);
  }
}

/** Checks what a request left in this host's memory. */
function check({ mr }: End, operation: Operation, number: number, wc?: WorkCompletion): void {
  const { immData } = operation.request(number);
  if (wc !== undefined) {
    assertEquals([Number(wc.check().wrId), wc.immData], [number, immData ?? wc.immData]);
  }
  const data = dataOf(number, operation.length);
  if (operation.left) new DataView(data.buffer).setBigUint64(0, operation.left(number), true);
  assertEquals(mr.bytes(slotOf(number), data.length), data);
}

/** Every kind of request. */
export const connected: readonly HostCase[] = Object.entries(OPERATIONS).map(
  ([name, operation]) => ({
    name,
    first: (run) => request(run, operation),
    second: (run) => serve(run, operation),
  }),
);

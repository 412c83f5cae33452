// Each completion status that rxe or the stub HCA can be driven to: what fails, what each side sees, and that both
// queue pairs work again after a reset.
import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  AccessFlags,
  AddressHandle,
  MemoryRegion,
  MemoryWindow,
  MwType,
  nameOf,
  QpState,
  QpType,
  type RcActivation,
  type Sge,
  WcStatus,
  type WorkCompletion,
  WorkCompletionError,
  WrOpcode,
} from "../../../mod.ts";
import { differs } from "../kernels.ts";
import {
  connect,
  deviceTest,
  type End,
  gidOf,
  makeEnd,
  type Pair,
  pairOf,
  PORT,
  QKEY,
  REMOTE_ACCESS,
  selfAddress,
  until,
  waitFor,
} from "../setup.ts";

const { RDMA_WRITE, RDMA_READ, LOCAL_INV, SEND_WITH_INV } = WrOpcode;

/** A key that no memory region has. */
const NO_KEY = 0x7fff_ff00;
/** The length of each message in bytes. A datagram has 40 bytes more. */
const SIZE = 64;

type Status = keyof typeof WcStatus;

/** A way to make requests fail. */
interface Fault {
  readonly type: QpType;
  /** The statuses of the sender's and of the receiver's completions. */
  readonly left: readonly Status[];
  readonly right: readonly Status[];
  /** Choices of the sender, and whom it connects to. */
  readonly activation?: RcActivation;
  readonly remoteQpn?: number;
  /** Posts the requests. */
  readonly post: (pair: Pair, ah: AddressHandle | undefined) => void;
}

function part({ mr }: End, length = SIZE): Sge {
  return mr.sge(0, length);
}

function withoutKey(end: End): Sge {
  const { addr, length } = part(end);
  return { addr, length, lkey: NO_KEY };
}

function remote({ mr }: End): { remoteAddr: bigint; rkey: number } {
  return { remoteAddr: mr.addr, rkey: mr.rkey };
}

function readOnly({ pd }: Pair): Sge {
  return new MemoryRegion(pd, SIZE, 0).sge();
}

/** Sends to the right end, which receives into `into`. */
function send({ left, right }: Pair, ah: AddressHandle | undefined, into: Sge, from?: Sge): void {
  right.qp.postRecv({ sge: into });
  const peer = ah && { ah, remoteQpn: right.qp.qpNum, remoteQkey: QKEY };
  const request = { sge: from ?? part(left) };
  left.qp.postSend(peer === undefined ? request : { ...request, ...peer });
}

const RECEIVES: Readonly<Record<string, (pair: Pair) => Sge>> = {
  "a receive is too short": ({ right }) => part(right, SIZE - 16),
  "a receive names no region": ({ right }) => withoutKey(right),
  "a receive is into memory that is only read": readOnly,
};

/** How the sender of each service sees that its peer's receive failed. */
const SENDERS = [
  [QpType.RC, "REM_OP_ERR"],
  [QpType.UC, "SUCCESS"],
  [QpType.UD, "SUCCESS"],
] as const;

/** A fault of a reliable connection that its receiver does not see. */
function rc(status: Status, post: Fault["post"], ...others: Status[]): Fault {
  return { type: QpType.RC, left: [status, ...others], right: [], post };
}

function sendTwo({ left }: Pair): void {
  left.qp.postSend([{ sge: part(left) }, { sge: part(left) }]);
}

const FAULTS: Readonly<Record<string, Fault>> = {
  ...Object.fromEntries(
    SENDERS.flatMap(([type, sender]) => [
      ...Object.entries(RECEIVES).map(([what, into]): [string, Fault] => [
        `${nameOf(QpType, type)}: ${what}`,
        {
          type,
          left: [sender],
          right: ["LOC_QP_OP_ERR"],
          post: (pair, ah) => send(pair, ah, into(pair)),
        },
      ]),
      [`${nameOf(QpType, type)}: a send names no region`, {
        type,
        left: ["LOC_QP_OP_ERR", "WR_FLUSH_ERR"],
        right: [],
        post: (pair, ah) => {
          send(pair, ah, part(pair.right, SIZE + 40), withoutKey(pair.left));
          send(pair, ah, part(pair.right, SIZE + 40));
        },
      } as Fault],
    ]),
  ),
  "RC: a write is not allowed by the peer's queue pair": rc(
    "REM_INV_REQ_ERR",
    ({ left, right }) => {
      right.qp.modify({ qpAccessFlags: AccessFlags.REMOTE_READ });
      left.qp.postSend({ opcode: RDMA_WRITE, sge: part(left), ...remote(right) });
    },
  ),
  "RC: a read is not allowed by the peer's queue pair": rc("REM_INV_REQ_ERR", ({ left, right }) => {
    right.qp.modify({ qpAccessFlags: AccessFlags.REMOTE_WRITE });
    left.qp.postSend({ opcode: RDMA_READ, sge: part(left), ...remote(right) });
  }),
  "RC: a write names no region of the peer": rc("REM_ACCESS_ERR", ({ left, right }) => {
    const { remoteAddr, rkey } = remote(right);
    left.qp.postSend({ opcode: RDMA_WRITE, sge: part(left), remoteAddr, rkey: rkey ^ 0xff });
  }),
  "RC: a write is beyond the region of the peer": rc("REM_ACCESS_ERR", ({ left, right }) => {
    const { addr, length, rkey } = right.mr;
    const remoteAddr = addr + BigInt(length);
    left.qp.postSend({ opcode: RDMA_WRITE, sge: part(left), remoteAddr, rkey });
  }),
  "RC: a read names no region of the peer": rc("REM_ACCESS_ERR", ({ left, right }) => {
    const { remoteAddr } = remote(right);
    left.qp.postSend({ opcode: RDMA_READ, sge: part(left), remoteAddr, rkey: NO_KEY });
  }),
  "RC: a read is into memory that is only read": rc("LOC_PROT_ERR", (pair) => {
    const { left, right } = pair;
    left.qp.postSend({ opcode: RDMA_READ, sge: readOnly(pair), ...remote(right) });
  }),
  "RC: a send invalidates a key that the peer does not have": {
    ...rc("SUCCESS", ({ left, right }) => {
      right.qp.postRecv({ sge: part(right) });
      left.qp.postSend({ opcode: SEND_WITH_INV, invalidateRkey: NO_KEY, sge: part(left) });
    }),
    right: ["REM_INV_REQ_ERR"],
  },
  "RC: a key to invalidate does not exist": rc("LOC_QP_OP_ERR", ({ left }) => {
    left.qp.postSend({ opcode: LOCAL_INV, invalidateRkey: NO_KEY });
  }),
  "RC: a window is bound to memory that does not allow it": rc("MW_BIND_ERR", ({ left, pd }) => {
    const mr = new MemoryRegion(pd, SIZE, AccessFlags.LOCAL_WRITE);
    const mw = new MemoryWindow(pd, MwType.TYPE_1);
    const { addr, length } = mr;
    const mwAccessFlags = AccessFlags.REMOTE_WRITE;
    left.qp.bindMw(mw, { bindInfo: { mr, addr, length, mwAccessFlags } });
  }),
  "RC: the peer has no receive": {
    ...rc("RNR_RETRY_EXC_ERR", sendTwo, "WR_FLUSH_ERR"),
    activation: { rnrRetry: 1 },
  },
  "RC: the peer does not exist": {
    ...rc("RETRY_EXC_ERR", sendTwo, "WR_FLUSH_ERR"),
    activation: { timeout: 10, retryCnt: 1 },
    remoteQpn: 0xab_cdef,
  },
};

/** Statuses that rxe of Linux 6.1 does not give, each with the reason or the test that shows it elsewhere. */
const NOT_BY_RXE: Readonly<Partial<Record<Status, string>>> = {
  LOC_LEN_ERR:
    "rxe gives LOC_QP_OP_ERR; the stub HCA gives it (tests/device/rss/rss_traffic_test.ts)",
  LOC_EEC_OP_ERR: "reliable datagrams",
  BAD_RESP_ERR: "the peer would have to break the protocol",
  LOC_ACCESS_ERR: "rxe gives LOC_PROT_ERR",
  LOC_RDD_VIOL_ERR: "reliable datagrams",
  REM_INV_RD_REQ_ERR: "reliable datagrams",
  REM_ABORT_ERR: "reliable datagrams",
  INV_EECN_ERR: "reliable datagrams",
  INV_EEC_STATE_ERR: "reliable datagrams",
  FATAL_ERR: "the device would have to fail",
  RESP_TIMEOUT_ERR: "rxe gives RETRY_EXC_ERR",
  GENERAL_ERR: "nothing else fails",
  TM_ERR: "rxe has no tag matching",
  TM_RNDV_INCOMPLETE: "rxe has no tag matching",
};

deviceTest("Each completion status is in the table of faults, or cannot be reached by rxe", () => {
  const reached = new Set(Object.values(FAULTS).flatMap(({ left, right }) => [...left, ...right]));
  const names = Object.keys(WcStatus) as Status[];
  assertEquals(names.filter((name) => !reached.has(name)), Object.keys(NOT_BY_RXE));
});

/** Two queue pairs that can send to each other; the left one as the fault wants it. */
function activate(
  { left, right, context, pd }: Pair,
  fault: Partial<Fault>,
): AddressHandle | undefined {
  const { qpType } = left.qp;
  if (qpType === QpType.UD) {
    for (const { qp } of [left, right]) qp.activateUd({ portNum: PORT, qkey: QKEY });
    return new AddressHandle(pd, selfAddress(context));
  }
  if (qpType === QpType.UC) {
    const ahAttr = selfAddress(context);
    connect(left.qp, right.qp.qpNum, ahAttr);
    connect(right.qp, left.qp.qpNum, ahAttr);
    return undefined;
  }
  const { gidIndex } = gidOf(context, "ipv4");
  for (const { qp } of [left, right]) {
    qp.init({ portNum: PORT, gidIndex, qpAccessFlags: REMOTE_ACCESS });
  }
  const { address } = right.qp;
  right.qp.activateRc(left.qp.address, { minRnrTimer: 1 });
  left.qp.activateRc({ ...address, qpNum: fault.remoteQpn ?? address.qpNum }, fault.activation);
  return undefined;
}

async function statusesOf({ cq }: End, expected: readonly string[]): Promise<WorkCompletion[]> {
  return expected.length === 0 ? cq.poll() : await waitFor(cq, expected.length);
}

/** A failed completion says what happened, and a request that succeeded says nothing. */
function assertTold(wc: WorkCompletion, code: string): void {
  assertEquals(wc.ok, code === "SUCCESS");
  if (wc.ok) return void wc.check();
  const error = assertThrows(() => wc.check(), WorkCompletionError);
  assertEquals([error.code, error.completion], [code, wc]);
  assert(error.message.includes(code), error.message);
}

/** The statuses of sends that the device refuses itself. */
const REFUSED: readonly Status[] = ["LOC_QP_OP_ERR", "MW_BIND_ERR"];

/** What the kernel makes of the statuses of the table. */
function here(
  { type, left, right }: Fault,
): [sender: readonly Status[], receiver: readonly Status[]] {
  const flushes = differs("flushesFaultySends");
  return [
    left.map((status) => flushes && REFUSED.includes(status) ? "WR_FLUSH_ERR" : status),
    type === QpType.UD && differs("dropsDatagrams") ? [] : right,
  ];
}

for (const [what, fault] of Object.entries(FAULTS)) {
  const { type } = fault;
  const [sender, receiver] = here(fault);
  const outcome = [...new Set([...sender, ...receiver])].join(", ");
  deviceTest(`${what}: ${outcome}, and both queue pairs work after a reset`, async () => {
    using pair = pairOf((pd) => makeEnd(pd, type));
    const ah = activate(pair, fault);
    fault.post(pair, ah);
    for (const [end, expected] of [[pair.left, sender], [pair.right, receiver]] as const) {
      const found = await statusesOf(end, expected);
      assertEquals(found.map(({ status }) => nameOf(WcStatus, status)), [...expected]);
      found.forEach((wc, i) => assertTold(wc, expected[i]!));
    }
    if (sender.some((status) => status !== "SUCCESS")) {
      assertEquals(pair.left.qp.query().attr.qpState, QpState.ERR);
    }
    if (receiver.length > 0) {
      await until("the state ERR", () => pair.right.qp.query().attr.qpState === QpState.ERR);
    }
    for (const { qp, cq } of [pair.left, pair.right]) {
      qp.modify({ qpState: QpState.RESET });
      cq.poll();
    }
    const again = activate(pair, {});
    send(pair, again, part(pair.right, SIZE + 40));
    for (const { cq } of [pair.left, pair.right]) (await waitFor(cq))[0]!.check();
  });
}

// Every call of the stub HCA fails once with every errno that it can be told: what comes through the kernel, ib_uverbs
// and libmlx4, what is left in the device, and that a retry works.
import { assert, assertEquals } from "@std/assert";
import {
  AccessFlags,
  CompletionQueue,
  Context,
  Flow,
  FlowSpecType,
  Gid,
  MemoryRegion,
  MemoryWindow,
  MwType,
  NativeResource,
  ProtectionDomain,
  QpState,
  QpType,
  QueuePair,
  reregMr,
  RwqIndirectionTable,
  SharedReceiveQueue,
  VerbsError,
  WorkQueue,
  WqState,
  XrcDomain,
} from "../../../mod.ts";
import { alive, ETHERNET_PORT, failNext, IB_PORT, STUB, stubTest, writeStub } from "../stub.ts";

const SOURCE = await Deno.readTextFile(
  new URL("../../../rxe/stub_hca/fail.c", import.meta.url),
);

/** The calls and the errors that the module knows. */
const CALLS = [...between("verbs[] = {", "};").matchAll(/"(\w+)"/g)].map(([, name]) => name!);
const ERRNOS = [...between("errnos[] = {", "};").matchAll(/NAMED\((\w+)\)/g)].map(([, n]) => n!);

function between(start: string, end: string): string {
  const from = SOURCE.indexOf(start);
  return SOURCE.slice(from, SOURCE.indexOf(end, from));
}

/** What calls are made on. */
interface Bench {
  readonly context: Context;
  readonly pd: ProtectionDomain;
  readonly cq: CompletionQueue;
}

/** A call that reaches the stub. */
interface Attempt {
  /** The verb that fails. */
  readonly verb: string;
  /** Errors that come out as another one, or not at all: libibverbs tries another way then. */
  readonly others?: Readonly<Record<string, string | undefined>>;
  /** Whether a failure with this errno closes the region. */
  readonly closesMr?: (errno: string) => boolean;
  /** Prepares it, and gives the function that makes it. */
  readonly prepare: (bench: Bench) => () => unknown;
}

const CAP = { maxSendWr: 4, maxRecvWr: 4 };
const GROUP = Gid.parse("ff0e::1");
const { LOCAL_WRITE } = AccessFlags;

const INIT = { qpState: QpState.INIT, portNum: IB_PORT, pkeyIndex: 0, qkey: 1 };

const context = ({ context }: Bench): Context => context;
const pd = ({ context }: Bench): ProtectionDomain => new ProtectionDomain(context);
const cq = ({ context }: Bench): CompletionQueue => new CompletionQueue(context, { cqe: 15 });
const qp = ({ pd, cq }: Bench, type: QpType = QpType.UD): QueuePair =>
  new QueuePair(pd, { type, sendCq: cq, recvCq: cq, cap: CAP });
const srq = ({ pd }: Bench): SharedReceiveQueue => new SharedReceiveQueue(pd, { maxWr: 4 });
const wq = ({ pd, cq }: Bench): WorkQueue => new WorkQueue(pd, { maxWr: 4, maxSge: 1, cq });
const region = ({ pd }: Bench): MemoryRegion => new MemoryRegion(pd, 4096, LOCAL_WRITE);
const window = ({ pd }: Bench): MemoryWindow => new MemoryWindow(pd, MwType.TYPE_2);
const table = (bench: Bench): RwqIndirectionTable =>
  new RwqIndirectionTable(bench.context, [wq(bench)]);
const flow = (bench: Bench): Flow => {
  const rawQp = qp(bench, QpType.RAW_PACKET);
  rawQp.modify({ qpState: QpState.INIT, portNum: ETHERNET_PORT });
  return new Flow(rawQp, {
    port: ETHERNET_PORT,
    specs: [{ type: FlowSpecType.UDP, val: { dstPort: 4791 }, mask: { dstPort: 0xffff } }],
  });
};

/** A call on what is made before. */
function on<T>(
  verb: string,
  make: (bench: Bench) => T,
  call: (made: T, bench: Bench) => unknown,
  how: Omit<Attempt, "verb" | "prepare"> = {},
): Attempt {
  const prepare = (bench: Bench): () => unknown => {
    const made = make(bench);
    return () => call(made, bench);
  };
  return { verb, prepare, ...how };
}

/** Makes an object of what is there already, so that nothing else is made on the way. */
function makes(verb: string, make: (bench: Bench) => NativeResource): Attempt {
  return on(verb, (bench) => bench, (bench) => make(bench));
}

/** Closes an object. */
function closes(verb: string, make: (bench: Bench) => NativeResource): Attempt {
  return on(verb, make, (made) => made.close());
}

const ATTEMPTS: Readonly<Record<string, Attempt>> = {
  alloc_ucontext: makes("ibv_open_device", () => Context.open(STUB)),
  mmap: makes("ibv_open_device", () => Context.open(STUB)),
  query_device: on("ibv_query_device_ex", context, (context) => context.queryDeviceEx(), {
    // libibverbs then asks by the older command.
    others: { ENOSYS: undefined, EOPNOTSUPP: undefined },
  }),
  query_port: on("ibv_query_port", context, (context) => context.queryPort(IB_PORT)),
  query_pkey: on("ibv_query_pkey", context, (context) => context.queryPkey(IB_PORT, 3)),
  alloc_pd: makes("ibv_alloc_pd", pd),
  dealloc_pd: closes("ibv_dealloc_pd", pd),
  reg_mr: makes("ibv_reg_mr", region),
  rereg_mr: {
    verb: "ibv_rereg_mr",
    // EOPNOTSUPP is also the answer of a provider without the verb, which leaves the region as it is.
    closesMr: (errno) => errno !== "EOPNOTSUPP",
    prepare: (bench) => {
      let mr = region(bench);
      return () => {
        if (mr.disposed) mr = region(bench);
        mr = reregMr(mr, { access: LOCAL_WRITE | AccessFlags.REMOTE_READ });
      };
    },
  },
  dereg_mr: closes("ibv_dereg_mr", region),
  alloc_mw: makes("ibv_alloc_mw", window),
  dealloc_mw: closes("ibv_dealloc_mw", window),
  create_cq: makes("ibv_create_cq", cq),
  modify_cq: on("ibv_modify_cq", cq, (cq) => cq.modify({ moderate: { cqCount: 1, cqPeriod: 1 } })),
  resize_cq: on("ibv_resize_cq", cq, (cq) => cq.resize(cq.cqe + 1)),
  destroy_cq: closes("ibv_destroy_cq", cq),
  create_srq: makes("ibv_create_srq", srq),
  modify_srq: on("ibv_modify_srq", srq, (srq) => srq.modify({ srqLimit: 1 })),
  query_srq: on("ibv_query_srq", srq, (srq) => srq.query()),
  destroy_srq: closes("ibv_destroy_srq", srq),
  open_xrcd: makes("ibv_open_xrcd", ({ context }) => new XrcDomain(context)),
  // Only domains of a file can fail to close: this is the file of the device.
  close_xrcd: closes(
    "ibv_close_xrcd",
    ({ context }) => new XrcDomain(context, { fd: context.cmdFd }),
  ),
  create_qp: makes("ibv_create_qp", qp),
  modify_qp: on("ibv_modify_qp", qp, (qp) => qp.modify(INIT)),
  query_qp: on("ibv_query_qp", qp, (qp) => qp.query()),
  destroy_qp: closes("ibv_destroy_qp", qp),
  attach_mcast: on("ibv_attach_mcast", qp, (qp) => qp.attachMcast(GROUP, 0)),
  create_flow: on(
    "ibv_create_flow",
    flow,
    ({ qp }) => new Flow(qp, { port: ETHERNET_PORT, specs: [] }),
  ),
  destroy_flow: closes("ibv_destroy_flow", flow),
  create_wq: makes("ibv_create_wq", wq),
  modify_wq: on("ibv_modify_wq", wq, (wq) => wq.modify({ wqState: WqState.RDY })),
  destroy_wq: closes("ibv_destroy_wq", wq),
  create_rwq_ind_table: on(
    "ibv_create_rwq_ind_table",
    wq,
    (wq, { context }) => new RwqIndirectionTable(context, [wq]),
  ),
  destroy_rwq_ind_table: closes("ibv_destroy_rwq_ind_table", table),
};

stubTest("Each call of the stub is in the table of faults", () => {
  assertEquals(Object.keys(ATTEMPTS).toSorted(), CALLS.toSorted());
  assert(ERRNOS.length > 20);
});

/** What a call comes to that the stub lets fail: `"ibv_alloc_pd EIO"`, or `undefined` for success. */
function outcome(stubVerb: string, errno: string, call: () => unknown): string | undefined {
  failNext(stubVerb, errno);
  try {
    close(call());
    return undefined;
  } catch (error) {
    return error instanceof VerbsError ? `${error.verb} ${error.code}` : String(error);
  } finally {
    writeStub("fail", "clear");
  }
}

/** The objects that exist. Whether their pages are unpinned in the end, each test of the stub looks by itself. */
function objects(): Omit<ReturnType<typeof alive>, "pinned_pages"> {
  const { pinned_pages: _, ...counts } = alive();
  return counts;
}

function close(made: unknown): void {
  if (made instanceof NativeResource) made.close();
}

for (const [stubVerb, { verb, others = {}, closesMr, prepare }] of Object.entries(ATTEMPTS)) {
  const title = `${verb} fails with each errno of the stub's ${stubVerb}, and can be tried again`;
  stubTest(title, () => {
    using context = Context.open(STUB);
    const pd = new ProtectionDomain(context);
    const cq = new CompletionQueue(context, { cqe: 4 });
    const wrong: Record<string, unknown> = {};
    for (const errno of ERRNOS) {
      const call = prepare({ context, pd, cq });
      const before = objects();
      const came = outcome(stubVerb, errno, call);
      const expected = errno in others ? others[errno] : errno;
      if (came !== (expected && `${verb} ${expected}`)) wrong[errno] = came;
      const mrs = before.mrs - (closesMr?.(errno) ? 1 : 0);
      assertEquals(objects(), { ...before, mrs }, `${stubVerb} ${errno}`);
      close(call());
    }
    assertEquals(wrong, {}, "calls that came to something else");
  });
}

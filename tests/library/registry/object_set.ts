// One object of each class: what valid calls are made on and with.

import {
  AccessFlags,
  AddressHandle,
  AllocatedBuffer,
  CompletionChannel,
  CompletionCounter,
  CompletionQueue,
  CompletionQueueEx,
  Context,
  Counters,
  DeviceMemory,
  DmaHandle,
  Flow,
  FlowActionEsp,
  FlowActionEspFlags,
  Gid,
  Grh,
  ImplicitMemoryRegion,
  MemoryRegion,
  MemoryWindow,
  MwType,
  OpenedQueuePair,
  ParentDomain,
  ProtectionDomain,
  type QpInitAttr,
  QpState,
  QpType,
  QueuePair,
  QueuePairEx,
  RecvRequestList,
  ReplyPath,
  Resource,
  RwqIndirectionTable,
  RxHash,
  RxHashFields,
  SendOpsFlags,
  SendRequestList,
  SharedReceiveQueue,
  SrqType,
  ThreadDomain,
  TphMemType,
  type WorkCompletion,
  WorkCompletionList,
  WorkCompletionListEx,
  WorkQueue,
  WqState,
  type WrBuilder,
  XrcDomain,
} from "../../../mod.ts";
import {
  connectRc,
  type ExposedMemory,
  listenRc,
  listenUd,
  type RcAddress,
  RcConn,
  RcListener,
  type RcOptions,
  UdConn,
} from "../../../net/mod.ts";
import { CmId, EventChannel, PortSpace } from "../../../cm.ts";
import { ToeplitzKey } from "../../../rss.ts";
import { connect } from "../../provider/recorder.ts";
import { FakeNet } from "../cm/fake.ts";
import { rootOf } from "../../../types/core/resource.ts";
import { activate, complete, DEVICE } from "./recorder_device.ts";

/** The qkey of the datagram queue pair. */
export const QKEY = 0x1111_1111;

/** Attributes of a flow action. */
export const ESP = {
  espAttr: {
    spi: 0x11,
    seq: 8,
    tfcPad: 3,
    flags: FlowActionEspFlags.FULL_OFFLOAD | FlowActionEspFlags.ENCRYPT,
    hardLimitPkts: 2n ** 40n,
  },
  keymat: {
    iv: 0x0102030405060708n,
    salt: 0x99,
    icvLen: 16,
    aesKey: Uint8Array.from({ length: 16 }, (_, i) => i),
  },
  replaySize: 64,
  esn: 5,
};

const { SRC_IPV4, DST_IPV4, SRC_PORT_TCP, DST_PORT_TCP } = RxHashFields;

/** Addresses and ports. */
export const RSS: number = SRC_IPV4 | DST_IPV4 | SRC_PORT_TCP | DST_PORT_TCP;

const KEY = new Uint8Array(40).fill(7);
const CAP = { maxSendWr: 64, maxRecvWr: 64, maxSendSge: 4, maxRecvSge: 4, maxInlineData: 64 };

function queues({ cq }: ObjectSet, type: QpType): QpInitAttr {
  return { qpType: type, sendCq: cq, recvCq: cq, cap: CAP };
}

function plain(set: ObjectSet, type: QpType): QueuePair {
  return new QueuePair(set.pd, queues(set, type));
}

function extended(set: ObjectSet, init: QpInitAttr, sendOpsFlags: number): QueuePairEx {
  return new QueuePairEx(set.pd, { ...init, sendOpsFlags });
}

function toInit<T extends QueuePair | OpenedQueuePair>(qp: T): T {
  qp.init({ portNum: 1, gidIndex: 0, psn: 1 });
  return qp;
}

function toRts<T extends QueuePair>(qp: T): T {
  activate(qp);
  return qp;
}

function datagram<T extends QueuePair>(qp: T): T {
  qp.activateUd({ portNum: 1, qkey: QKEY });
  return qp;
}

/** The objects of an ObjectSet. The first of a class is the one that its members are called on. */
interface Objects {
  readonly context: Context;
  readonly pd: ProtectionDomain;
  readonly channel: CompletionChannel;
  readonly cq: CompletionQueue;
  readonly cqEx: CompletionQueueEx;
  readonly mr: MemoryRegion;
  readonly buffer: Uint8Array<ArrayBuffer>;
  readonly userMr: MemoryRegion;
  readonly ud: QueuePair;
  readonly reset: QueuePair;
  readonly resetRc: QueuePair;
  /** Of type RC, in state INIT. */
  readonly rc: QueuePair;
  /** Of type UC, in state INIT. */
  readonly uc: QueuePair;
  /** Of type RC, in state RTS. */
  readonly ready: QueuePair;
  readonly raw: QueuePair;
  readonly ah: AddressHandle;
  readonly wq: WorkQueue;
  readonly table: RwqIndirectionTable;
  readonly rxHash: RxHash;
  readonly xrcd: XrcDomain;
  readonly srq: SharedReceiveQueue;
  readonly tagSrq: SharedReceiveQueue;
  /** In state INIT. */
  readonly opened: OpenedQueuePair;
  readonly counters: Counters;
  readonly action: FlowActionEsp;
  readonly flow: Flow;
  readonly path: ReplyPath;
  readonly sends: SendRequestList;
  readonly recvs: RecvRequestList;
  /** One completion is in it. */
  readonly batch: WorkCompletionList;
  /** One completion is in it. */
  readonly batchEx: WorkCompletionListEx;
  readonly completion: WorkCompletion;
  readonly gid: Gid;
  readonly grh: Grh;
  readonly toeplitz: ToeplitzKey;
  readonly dm: DeviceMemory;
  readonly buf: AllocatedBuffer;
  readonly dmah: DmaHandle;
  readonly counter: CompletionCounter;
  readonly implicit: ImplicitMemoryRegion;
  readonly bindable: MemoryRegion;
  readonly mw: MemoryWindow;
  readonly mw1: MemoryWindow;
  readonly td: ThreadDomain;
  readonly parentDomain: ParentDomain;
  readonly udEx: QueuePairEx;
  /** Of type RC, in state RTS, for all operations. */
  readonly readyEx: QueuePairEx;
  readonly tso: QueuePairEx;
  readonly xrcEx: QueuePairEx;
  readonly builder: WrBuilder;
  readonly udBuilder: WrBuilder;
  readonly cmNet: FakeNet;
  readonly cmChannel: EventChannel;
  /** In state IDLE. */
  readonly cmId: CmId;
}

const { LOCAL_WRITE, MW_BIND, ON_DEMAND } = AccessFlags;

const MAKE: { readonly [K in keyof Objects]: (set: ObjectSet) => Objects[K] } = {
  context: () => Context.open(DEVICE),
  pd: ({ context }) => new ProtectionDomain(context),
  channel: ({ context }) => new CompletionChannel(context),
  cq: ({ context, channel }) => new CompletionQueue(context, { cqe: 64, channel }),
  cqEx: ({ context, channel }) => new CompletionQueueEx(context, { cqe: 64, channel }),
  mr: ({ pd }) => new MemoryRegion(pd, 8192, LOCAL_WRITE),
  buffer: () => new Uint8Array(256),
  userMr: ({ pd, buffer }) => new MemoryRegion(pd, buffer, LOCAL_WRITE),
  ud: (set) => datagram(plain(set, QpType.UD)),
  reset: (set) => plain(set, QpType.UD),
  resetRc: (set) => plain(set, QpType.RC),
  rc: (set) => toInit(plain(set, QpType.RC)),
  uc: (set) => toInit(plain(set, QpType.UC)),
  ready: (set) => toRts(toInit(plain(set, QpType.RC))),
  raw: (set) => plain(set, QpType.RAW_PACKET),
  ah: ({ pd }) => new AddressHandle(pd, { portNum: 1, dlid: 7 }),
  wq: ({ pd, cq }) => {
    const wq = new WorkQueue(pd, { cq, maxWr: 8, maxSge: 2 });
    wq.modify({ wqState: WqState.RDY });
    return wq;
  },
  table: ({ context, wq }) => new RwqIndirectionTable(context, [wq, wq]),
  rxHash: () => new RxHash({ rxHashKey: KEY, rxHashFieldsMask: RSS }),
  xrcd: ({ context }) => new XrcDomain(context),
  srq: ({ pd }) => new SharedReceiveQueue(pd, { maxWr: 8, maxSge: 2 }),
  tagSrq: ({ pd, cq }) => {
    const tmCap = { maxNumTags: 5, maxOps: 6 };
    return new SharedReceiveQueue(pd, { maxWr: 8, srqType: SrqType.TM, cq, tmCap });
  },
  opened: ({ xrcd }) => toInit(new OpenedQueuePair({ xrcd, qpNum: 0x1234 })),
  counters: ({ context }) => new Counters(context),
  action: ({ context }) => new FlowActionEsp(context, ESP),
  flow: ({ raw }) => new Flow(raw, { port: 1 }),
  path: ({ pd }) => new ReplyPath(pd, { portNum: 1, maxPeers: 4 }),
  sends: ({ mr, ah }) => {
    const sends = new SendRequestList({ capacity: 4, maxSge: 2 });
    for (let i = 0; i < 4; i++) {
      sends.set(i, { sge: mr.sge(0, 32), ah, remoteQpn: 1, remoteQkey: QKEY });
    }
    return sends;
  },
  recvs: ({ mr }) => {
    const recvs = new RecvRequestList({ capacity: 4, maxSge: 2 });
    for (let i = 0; i < 4; i++) recvs.set(i, { sge: mr.sge(64 * i, 64) });
    return recvs;
  },
  batch: ({ cq }) => {
    const batch = new WorkCompletionList(4);
    complete(cq);
    cq.pollInto(batch);
    return batch;
  },
  batchEx: ({ cqEx }) => {
    const batch = new WorkCompletionListEx(4);
    complete(cqEx);
    cqEx.pollInto(batch);
    return batch;
  },
  completion: ({ cq }) => {
    complete(cq);
    return cq.poll()[0]!;
  },
  gid: () => Gid.parse("ff0e::1"),
  grh: () => new Grh(new Uint8Array(40)),
  toeplitz: () => new ToeplitzKey(KEY),
  dm: ({ context }) => new DeviceMemory(context, { length: 64 }),
  buf: ({ pd }) => new AllocatedBuffer(pd, 4096),
  dmah: ({ context }) => new DmaHandle(context, { cpuId: 3, ph: 2, tphMemType: TphMemType.PM }),
  counter: ({ context }) => new CompletionCounter(context),
  implicit: ({ pd }) => new ImplicitMemoryRegion(pd, ON_DEMAND),
  bindable: ({ pd }) => new MemoryRegion(pd, 4096, LOCAL_WRITE | MW_BIND),
  mw: ({ pd }) => new MemoryWindow(pd, MwType.TYPE_2),
  mw1: ({ pd }) => new MemoryWindow(pd, MwType.TYPE_1),
  td: ({ context }) => new ThreadDomain(context),
  parentDomain: ({ pd, td }) => new ParentDomain(pd, { td }),
  udEx: (set) => datagram(extended(set, queues(set, QpType.UD), SendOpsFlags.SEND)),
  readyEx: (set) => {
    const { TSO: _, ...flags } = SendOpsFlags;
    const all = Object.values(flags).reduce((all: number, flag) => all | flag, 0);
    return toRts(toInit(extended(set, queues(set, QpType.RC), all)));
  },
  tso: (set) => {
    const init = { ...queues(set, QpType.RAW_PACKET), maxTsoHeader: 64 };
    const qp = extended(set, init, SendOpsFlags.TSO);
    qp.modify({ qpState: QpState.INIT });
    return toRts(qp);
  },
  xrcEx: (set) => {
    const init = { qpType: QpType.XRC_SEND, sendCq: set.cq, cap: { maxSendWr: 4 } };
    return toRts(toInit(extended(set, init, SendOpsFlags.SEND)));
  },
  builder: ({ readyEx }) => readyEx.wrStart(),
  udBuilder: ({ udEx }) => udEx.wrStart(),
  cmNet: (set) => {
    const typeOf = (portSpace?: PortSpace): QpType =>
      portSpace === PortSpace.UDP ? QpType.UD : QpType.RC;
    return new FakeNet(DEVICE, set.cmChannel, (portSpace) => plain(set, typeOf(portSpace)));
  },
  cmChannel: () => new EventChannel(),
  cmId: ({ cmChannel }) => new CmId(cmChannel),
};

/** The names of the objects of an ObjectSet, in the order in which they can be made. */
export const NAMES = Object.keys(MAKE) as readonly (keyof Objects)[];

/** What an ObjectSet can dispose by name. */
type Closable = Resource | UdConn | RcConn | RcListener;

function isClosable(made: unknown): made is Closable {
  return [Resource, UdConn, RcConn, RcListener].some((type) => made instanceof type);
}

export interface ObjectSet extends Objects {}

/** One object of each class. Each is made when it is used for the first time. */
export class ObjectSet {
  readonly #made = new Map<string, unknown>();
  readonly #closing = new AbortController();
  readonly #prepared = Promise.withResolvers<void>();

  once<T>(name: string, make: () => T): T {
    if (!this.#made.has(name)) this.#made.set(name, make());
    return this.#made.get(name) as T;
  }

  /** The resources that were made, by name. */
  get resources(): [string, Closable][] {
    return [...this.#made].filter((entry): entry is [string, Closable] => isClosable(entry[1]));
  }

  /** Disposes one of them. */
  dispose(name: string): void {
    const made = this.#made.get(name);
    if (isClosable(made)) made[Symbol.dispose]();
  }

  /** Resolves when all is made that a call needs: opening a connection takes time. */
  get prepared(): Promise<void> {
    return this.#prepared.promise;
  }

  /** Says that all is made. */
  setPrepared(): void {
    this.#prepared.resolve();
  }

  /** Aborts when the set is closed. */
  get signal(): AbortSignal {
    return this.#closing.signal;
  }

  /** What takes time to open. It is closed again if the set was closed in the meantime. */
  async #open<T extends UdConn | RcListener | RcConn>(
    name: string,
    open: () => Promise<T>,
  ): Promise<T> {
    if (!this.#made.has(name)) {
      connect();
      const opened = await open();
      if (this.signal.aborted) opened[Symbol.dispose]();
      this.#made.set(name, opened);
    }
    return this.#made.get(name) as T;
  }

  udConn(): Promise<UdConn> {
    const few = { recvDepth: 4, sendDepth: 4, maxQueued: 4, maxPeers: 4 };
    return this.#open("udConn", () => listenUd({ device: DEVICE, qkey: QKEY, ...few }));
  }

  /** A connection that finds another one by address. */
  async udFinder(): Promise<UdConn> {
    const few = { device: DEVICE, recvDepth: 4, sendDepth: 4, maxQueued: 4, maxPeers: 4 };
    this.cmNet.reach("IPv4");
    await this.#open("udFound", () => listenUd({ ...few, port: 7471 }));
    return await this.#open("udFinder", () => listenUd(few));
  }

  listener(): Promise<RcListener> {
    return this.#open(
      "listener",
      () => listenRc({ ...this.#few, hostname: "127.0.0.1" }),
    );
  }

  /** Few buffers are fast to make. */
  get #few(): RcOptions {
    const { signal } = this;
    return { device: DEVICE, credits: 4, sendDepth: 4, maxMessage: 64, keepAlive: 0, signal };
  }

  /** A connection to itself: the recorder takes what it sends to its own receives. */
  rcConn(): Promise<RcConn> {
    const exchange = (address: RcAddress): Promise<unknown> => Promise.resolve({ ...address });
    return this.#open("rcConn", () => connectRc({ ...this.#few, exchange }));
  }

  /** A connection to the listener. */
  async rcClient(): Promise<RcConn> {
    const { addr: { port: tcpPort } } = await this.listener();
    return this.#open("rcClient", () => connectRc({ ...this.#few, tcpPort }));
  }

  async exposed(): Promise<ExposedMemory> {
    return await (await this.rcConn()).expose(64);
  }

  get other(): ObjectSet {
    return this.once("other", () => new ObjectSet());
  }

  /** Closes the devices. */
  [Symbol.dispose](): void {
    this.close();
  }

  /** Closes the devices. */
  close(): void {
    this.#closing.abort(new Deno.errors.Interrupted("Cannot go on: the set is closed"));
    const sets = [...this.#made.values()].filter((made) => made instanceof ObjectSet);
    using stack = new DisposableStack();
    for (const set of sets) stack.defer(() => set.close());
    const context = this.#made.get("context") as Context | undefined;
    if (context !== undefined) stack.use(context);
    const net = this.#made.get("cmNet") as FakeNet | undefined;
    if (net !== undefined) stack.use(net);
    for (const [, made] of this.resources) {
      if (!(made instanceof Resource) || rootOf(made) === made) stack.use(made);
    }
  }
}

for (const name of NAMES) {
  Object.defineProperty(ObjectSet.prototype, name, {
    get(this: ObjectSet): unknown {
      return this.once<unknown>(name, () => MAKE[name](this));
    },
  });
}

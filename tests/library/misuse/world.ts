// One object of each class.

import {
  AccessFlags,
  AddressHandle,
  CompletionChannel,
  CompletionQueue,
  CompletionQueueEx,
  Context,
  Counters,
  DeviceMemory,
  Flow,
  FlowActionEsp,
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
  RecvRequests,
  ReplyPath,
  Resource,
  RwqIndirectionTable,
  RxHash,
  RxHashFields,
  SendOpsFlags,
  SendRequests,
  SharedReceiveQueue,
  SrqType,
  ThreadDomain,
  ToeplitzKey,
  type WorkCompletion,
  WorkCompletions,
  WorkCompletionsEx,
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
import { connect } from "../../provider/recorder.ts";
import { activate, complete, DEVICE } from "./bed.ts";

/** The qkey of the datagram queue pair. */
export const QKEY = 0x1111_1111;

/** Attributes of a flow action. */
export const ESP = {
  espAttr: { spi: 1, seq: 2, tfcPad: 3, flags: 0, hardLimitPkts: 5n },
  keymat: { iv: 1n, salt: 2, icvLen: 16, aesKey: new Uint8Array(16) },
  replaySize: 32,
  esn: 0,
};

const CAP = { maxSendWr: 64, maxRecvWr: 64, maxSendSge: 4, maxRecvSge: 4, maxInlineData: 64 };

/** What a world can dispose by name. */
type Closable = Resource | UdConn | RcConn | RcListener;

function isClosable(made: unknown): made is Closable {
  return [Resource, UdConn, RcConn, RcListener].some((type) => made instanceof type);
}

/** One object of each class. Each is made when it is used for the first time. */
export class World {
  readonly #made = new Map<string, unknown>();
  readonly #closing = new AbortController();
  readonly #prepared = Promise.withResolvers<void>();

  #once<T>(name: string, make: () => T): T {
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

  /** Aborts when the world is closed. */
  get signal(): AbortSignal {
    return this.#closing.signal;
  }

  /** What takes time to open. It is closed again if the world was closed in the meantime. */
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

  #queues(type: QpType): QpInitAttr {
    return { type, sendCq: this.cq, recvCq: this.cq, cap: CAP };
  }

  get other(): World {
    return this.#once("other", () => new World());
  }

  get context(): Context {
    return this.#once("context", () => Context.open(DEVICE));
  }

  get pd(): ProtectionDomain {
    return this.#once("pd", () => new ProtectionDomain(this.context));
  }

  get channel(): CompletionChannel {
    return this.#once("channel", () => new CompletionChannel(this.context));
  }

  get cq(): CompletionQueue {
    return this.#once(
      "cq",
      () => new CompletionQueue(this.context, { cqe: 64, channel: this.channel }),
    );
  }

  get cqEx(): CompletionQueueEx {
    return this.#once(
      "cqEx",
      () => new CompletionQueueEx(this.context, { cqe: 64, channel: this.channel }),
    );
  }

  get mr(): MemoryRegion {
    return this.#once("mr", () => new MemoryRegion(this.pd, 8192, AccessFlags.LOCAL_WRITE));
  }

  get buffer(): Uint8Array<ArrayBuffer> {
    return this.#once("buffer", () => new Uint8Array(256));
  }

  get userMr(): MemoryRegion {
    return this.#once(
      "userMr",
      () => new MemoryRegion(this.pd, this.buffer, AccessFlags.LOCAL_WRITE),
    );
  }

  get reset(): QueuePair {
    return this.#once("reset", () => new QueuePair(this.pd, this.#queues(QpType.UD)));
  }

  get resetRc(): QueuePair {
    return this.#once("resetRc", () => new QueuePair(this.pd, this.#queues(QpType.RC)));
  }

  get ud(): QueuePair {
    return this.#once("ud", () => {
      const qp = new QueuePair(this.pd, this.#queues(QpType.UD));
      qp.activateUd({ port: 1, qkey: QKEY });
      return qp;
    });
  }

  get rc(): QueuePair {
    return this.#once("rc", () => {
      const qp = new QueuePair(this.pd, this.#queues(QpType.RC));
      qp.init({ port: 1, gidIndex: 0, psn: 1 });
      return qp;
    });
  }

  get uc(): QueuePair {
    return this.#once("uc", () => {
      const qp = new QueuePair(this.pd, this.#queues(QpType.UC));
      qp.init({ port: 1, gidIndex: 0, psn: 1 });
      return qp;
    });
  }

  get ready(): QueuePair {
    return this.#once("ready", () => {
      const qp = new QueuePair(this.pd, this.#queues(QpType.RC));
      qp.init({ port: 1, gidIndex: 0, psn: 1 });
      activate(qp);
      return qp;
    });
  }

  get raw(): QueuePair {
    return this.#once("raw", () => new QueuePair(this.pd, this.#queues(QpType.RAW_PACKET)));
  }

  get ah(): AddressHandle {
    return this.#once("ah", () => new AddressHandle(this.pd, { portNum: 1, dlid: 7 }));
  }

  get wq(): WorkQueue {
    return this.#once("wq", () => {
      const wq = new WorkQueue(this.pd, { cq: this.cq, maxWr: 8, maxSge: 2 });
      wq.modify({ wqState: WqState.RDY });
      return wq;
    });
  }

  get table(): RwqIndirectionTable {
    return this.#once("table", () => new RwqIndirectionTable(this.context, [this.wq, this.wq]));
  }

  get rxHash(): RxHash {
    return this.#once("rxHash", () => {
      const { SRC_IPV4, DST_IPV4 } = RxHashFields;
      const rxHashKey = new Uint8Array(40).fill(7);
      return new RxHash({ rxHashKey, rxHashFieldsMask: SRC_IPV4 | DST_IPV4 });
    });
  }

  get xrcd(): XrcDomain {
    return this.#once("xrcd", () => new XrcDomain(this.context));
  }

  get srq(): SharedReceiveQueue {
    return this.#once("srq", () => new SharedReceiveQueue(this.pd, { maxWr: 8, maxSge: 2 }));
  }

  get tagSrq(): SharedReceiveQueue {
    return this.#once("tagSrq", () => {
      const { pd, cq } = this;
      const tmCap = { maxNumTags: 5, maxOps: 6 };
      return new SharedReceiveQueue(pd, { maxWr: 8, srqType: SrqType.TM, cq, tmCap });
    });
  }

  get opened(): OpenedQueuePair {
    return this.#once("opened", () => new OpenedQueuePair({ xrcd: this.xrcd, qpNum: 0x1234 }));
  }

  get counters(): Counters {
    return this.#once("counters", () => new Counters(this.context));
  }

  get action(): FlowActionEsp {
    return this.#once("action", () => new FlowActionEsp(this.context, ESP));
  }

  get flow(): Flow {
    return this.#once("flow", () => new Flow(this.raw, { port: 1 }));
  }

  get path(): ReplyPath {
    return this.#once("path", () => new ReplyPath(this.pd, { port: 1, maxPeers: 4 }));
  }

  get sends(): SendRequests {
    return this.#once("sends", () => {
      const { mr, ah } = this;
      const sends = new SendRequests({ capacity: 4, maxSge: 2 });
      for (let i = 0; i < 4; i++) {
        sends.set(i, { sge: mr.slice(0, 32), ah, remoteQpn: 1, remoteQkey: QKEY });
      }
      return sends;
    });
  }

  get recvs(): RecvRequests {
    return this.#once("recvs", () => {
      const recvs = new RecvRequests({ capacity: 4, maxSge: 2 });
      for (let i = 0; i < 4; i++) recvs.set(i, { sge: this.mr.slice(64 * i, 64) });
      return recvs;
    });
  }

  /** One completion is in it. */
  get batch(): WorkCompletions {
    return this.#once("batch", () => {
      const batch = new WorkCompletions(4);
      complete(this.cq);
      this.cq.pollInto(batch);
      return batch;
    });
  }

  /** One completion is in it. */
  get batchEx(): WorkCompletionsEx {
    return this.#once("batchEx", () => {
      const batch = new WorkCompletionsEx(4);
      complete(this.cqEx);
      this.cqEx.pollInto(batch);
      return batch;
    });
  }

  get completion(): WorkCompletion {
    return this.#once("completion", () => {
      const { cq } = this;
      complete(cq);
      return cq.poll()[0]!;
    });
  }

  get gid(): Gid {
    return this.#once("gid", () => Gid.parse("ff0e::1"));
  }

  get grh(): Grh {
    return this.#once("grh", () => new Grh(new Uint8Array(40)));
  }

  get toeplitz(): ToeplitzKey {
    return this.#once("toeplitz", () => new ToeplitzKey(new Uint8Array(40).fill(7)));
  }

  get dm(): DeviceMemory {
    return this.#once("dm", () => new DeviceMemory(this.context, { length: 64 }));
  }

  get implicit(): ImplicitMemoryRegion {
    return this.#once("implicit", () => new ImplicitMemoryRegion(this.pd, AccessFlags.ON_DEMAND));
  }

  get bindable(): MemoryRegion {
    return this.#once(
      "bindable",
      () => new MemoryRegion(this.pd, 4096, AccessFlags.LOCAL_WRITE | AccessFlags.MW_BIND),
    );
  }

  get mw(): MemoryWindow {
    return this.#once("mw", () => new MemoryWindow(this.pd, MwType.TYPE_2));
  }

  get mw1(): MemoryWindow {
    return this.#once("mw1", () => new MemoryWindow(this.pd, MwType.TYPE_1));
  }

  get td(): ThreadDomain {
    return this.#once("td", () => new ThreadDomain(this.context));
  }

  get parentDomain(): ParentDomain {
    return this.#once("parentDomain", () => new ParentDomain(this.pd, { td: this.td }));
  }

  get udEx(): QueuePairEx {
    return this.#once("udEx", () => {
      const init = { ...this.#queues(QpType.UD), sendOpsFlags: SendOpsFlags.SEND };
      const qp = new QueuePairEx(this.pd, init);
      qp.activateUd({ port: 1, qkey: QKEY });
      return qp;
    });
  }

  get readyEx(): QueuePairEx {
    return this.#once("readyEx", () => {
      const { TSO: _, ...flags } = SendOpsFlags;
      const sendOpsFlags = Object.values(flags).reduce((all: number, flag) => all | flag, 0);
      const qp = new QueuePairEx(this.pd, { ...this.#queues(QpType.RC), sendOpsFlags });
      qp.init({ port: 1, gidIndex: 0, psn: 1 });
      activate(qp);
      return qp;
    });
  }

  get tso(): QueuePairEx {
    return this.#once("tso", () => {
      const init = { ...this.#queues(QpType.RAW_PACKET), sendOpsFlags: SendOpsFlags.TSO };
      const qp = new QueuePairEx(this.pd, { ...init, maxTsoHeader: 64 });
      for (const qpState of [QpState.INIT, QpState.RTR, QpState.RTS]) qp.modify({ qpState });
      return qp;
    });
  }

  get xrcEx(): QueuePairEx {
    return this.#once("xrcEx", () => {
      const { cq, pd } = this;
      const init = { type: QpType.XRC_SEND, sendCq: cq, cap: { maxSendWr: 4 } };
      const qp = new QueuePairEx(pd, { ...init, sendOpsFlags: SendOpsFlags.SEND });
      qp.init({ port: 1, gidIndex: 0, psn: 1 });
      activate(qp);
      return qp;
    });
  }

  get builder(): WrBuilder {
    return this.#once("builder", () => this.readyEx.wrStart());
  }

  get udBuilder(): WrBuilder {
    return this.#once("udBuilder", () => this.udEx.wrStart());
  }

  /** Closes the devices. */
  [Symbol.dispose](): void {
    this.close();
  }

  /** Closes the devices. */
  close(): void {
    this.#closing.abort(new Deno.errors.Interrupted("Cannot go on: the world is closed"));
    const worlds = [...this.#made.values()].filter((made) => made instanceof World);
    using stack = new DisposableStack();
    for (const world of worlds) stack.defer(() => world.close());
    const context = this.#made.get("context") as Context | undefined;
    if (context !== undefined) stack.use(context);
    for (const [, made] of this.resources) if (!(made instanceof Resource)) stack.use(made);
  }
}

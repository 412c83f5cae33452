// Puts a librdmacm without a network in the place of librdmacm, and the recorder in that of libibverbs.

import { assertEquals } from "@std/assert";
import { spy } from "@std/testing/mock";
import { CmEventType, CmId, EventChannel, PortSpace } from "../../../cm.ts";
import { settled } from "../../../wait/descriptors.ts";
import { nonblocking } from "../../../ffi/library.ts";
import { bindRdmacm, nonblockingRdmacm } from "../../../ffi/rdmacm.ts";
import { cString, readCString } from "../../../ffi/pointers.ts";
import { nextTurn } from "../../../wait/turns.ts";
import { Context, Gid, LinkLayer, Mtu, QpType, type QueuePair } from "../../../mod.ts";
import { RecorderObjects } from "../../provider/objects.ts";
import * as recorder from "../../provider/recorder.ts";
import { standIn } from "../stand_in.ts";
import { until } from "../../until.ts";

const path = await standIn("RDMACM_LIBRARY", "fake_rdmacm.c", bindRdmacm);

const { symbols } = Deno.dlopen(path, {
  fake_device: { parameters: ["pointer"], result: "void" },
  fake_network: { parameters: ["i32"], result: "void" },
  fake_states: { parameters: ["buffer", "i32"], result: "void" },
  fake_fail: { parameters: ["buffer", "i32"], result: "void" },
  fake_take_back: { parameters: ["pointer"], result: "void" },
  fake_calls: { parameters: [], result: "pointer" },
  fake_clear: { parameters: [], result: "void" },
  fake_unacknowledged: { parameters: [], result: "i32" },
  fake_ids: { parameters: [], result: "i32" },
  fake_groups: { parameters: [], result: "i32" },
  fake_answer: { parameters: ["i32"], result: "void" },
  fake_data: { parameters: ["buffer"], result: "u32" },
  fake_event: { parameters: ["pointer", "i32", "i32", "buffer"], result: "pointer" },
});

const TYPE = CmEventType;

/** A network without a cable: the test says which events come. As librdmacm, it has the device open until its end. */
export class FakeNet implements Disposable {
  readonly #context: Context;

  /**
   * @param device The name of the device of every id.
   * @param channel The channel of every id.
   * @param newQp Makes a queue pair for an id of a port space.
   */
  constructor(
    device: string,
    readonly channel: EventChannel,
    readonly newQp: (portSpace?: PortSpace) => QueuePair,
  ) {
    this.#context = Context.open(device);
    symbols.fake_device(this.#context.unsafeHandle);
    symbols.fake_network(0);
    this.state();
    symbols.fake_answer(TYPE.MULTICAST_JOIN);
    symbols.fake_clear();
  }

  [Symbol.dispose](): void {
    this.channel.close();
    this.#context.close();
  }

  /** The functions that were called since, but for those that change nothing. */
  takeCalls(): string[] {
    const names = readCString(symbols.fake_calls()!).trim();
    symbols.fake_clear();
    return names === "" ? [] : names.split(" ").map((name) => name.slice("rdma_".length));
  }

  /** Lets ids reach each other, at addresses of a family. Events come by themselves then. */
  reach(family: "IPv4" | "IPv6"): void {
    symbols.fake_network(family === "IPv4" ? 2 : 10);
  }

  /** Says what peers state of themselves by the connection manager; without a GID it is right. */
  state(gid?: string, mtu: number = Mtu[1024]): void {
    symbols.fake_states(gid === undefined ? null : Gid.parse(gid).bytes, mtu);
  }

  /** Makes a function fail until the next {@linkcode takeCalls}. */
  fail(name: string, errno: number): void {
    symbols.fake_fail(cString(name), errno);
  }

  /** The peer takes back the request that made an id, of which no event tells. */
  takeBack(id: CmId): void {
    symbols.fake_take_back(id.unsafeHandle);
  }

  /** What answers who joins a group from now on. */
  answerGroups(type: CmEventType | undefined): void {
    symbols.fake_answer(type ?? -1);
  }

  /** The private data of the last call that had some. */
  get data(): Uint8Array {
    const bytes = new Uint8Array(256);
    return bytes.subarray(0, symbols.fake_data(bytes));
  }

  /** Makes an event come. */
  push(id: CmId, type: CmEventType, status = 0, text = ""): void {
    symbols.fake_event(id.unsafeHandle, type, status, cString(text));
  }

  /** An id in some state, which has a queue pair if the state needs one. */
  async idIn(state: string, portSpace: PortSpace = PortSpace.TCP): Promise<CmId> {
    const id = new CmId(this.channel, portSpace);
    const to = { hostname: "10.0.0.2", port: 7471 };
    const own = { hostname: "10.0.0.1", port: 7471 };
    if (state === "IDLE") return id;
    if (state === "BOUND" || state === "LISTENING") id.bindAddr(own);
    if (state === "BOUND") return id;
    if (state === "LISTENING" || ["REQUESTED", "ACCEPTING"].includes(state)) {
      id.listen();
      if (state === "LISTENING") return id;
      this.push(id, TYPE.CONNECT_REQUEST);
      const request = await this.next();
      if (state === "REQUESTED") return request;
      request.accept(this.newQp(portSpace)).catch(() => {});
      await until("the answer", () => request.state !== "REQUESTED");
      return request;
    }
    await this.#advance(id, to, state, portSpace);
    assertEquals(id.state, state);
    return id;
  }

  async #advance(
    id: CmId,
    to: { hostname: string; port: number },
    state: string,
    portSpace: PortSpace,
  ): Promise<void> {
    const steps: [doing: string, done: string, type: CmEventType, () => Promise<unknown>][] = [
      ["RESOLVING_ADDR", "ADDR_RESOLVED", TYPE.ADDR_RESOLVED, () => id.resolveAddr(to)],
      ["RESOLVING_ROUTE", "ROUTE_RESOLVED", TYPE.ROUTE_RESOLVED, () => id.resolveRoute()],
      ["CONNECTING", "RESPONDED", TYPE.CONNECT_RESPONSE, () => id.connect(this.newQp(portSpace))],
    ];
    for (const [doing, done, type, step] of steps) {
      const stepped = step();
      if (state === doing) return void stepped.catch(() => {});
      if (state === "FAILED" && doing === "CONNECTING") {
        this.push(id, TYPE.REJECTED, 28, "no");
        return void await stepped.catch(() => {});
      }
      this.push(id, type);
      await stepped;
      if (state === done) return;
    }
    await id.establish();
    if (state === "ESTABLISHED") return;
    if (state === "DISCONNECTING") return void id.disconnect().catch(() => {});
    const type = state === "REMOVED" ? TYPE.DEVICE_REMOVAL : TYPE.DISCONNECTED;
    // A connection of datagrams has no end that a step could wait for.
    const ended = portSpace === PortSpace.UDP ? this.channel.events().next() : id.disconnected();
    this.push(id, type);
    await Promise.resolve(ended).catch(() => {});
  }

  /** The id of the next event that no step takes. */
  async next(): Promise<CmId> {
    for await (const { id } of this.channel) return id;
    throw new Error("Cannot wait: the channel has ended");
  }
}

/** The ids, events and groups that this thread has left. */
export function fakesLeft(): number {
  return symbols.fake_ids() + symbols.fake_unacknowledged() + symbols.fake_groups();
}

/** A network with the recorder as device. At the end nothing of it is left, and every event is acknowledged. */
export class FakeBed extends RecorderObjects {
  // Tests of misuse forget ids, in the same process.
  readonly #before: number = fakesLeft();
  readonly net: FakeNet = new FakeNet(
    this.context.device.name,
    new EventChannel(),
    (portSpace) => this.qp(portSpace === PortSpace.UDP ? QpType.UD : QpType.RC),
  );

  /** Lets ids reach each other, at addresses of a family. Events come by themselves then. */
  connect(family: "IPv4" | "IPv6"): void {
    this.net.reach(family);
    recorder.answer("ibv_query_port", { link_layer: LinkLayer.ETHERNET });
    recorder.connect();
  }

  override [Symbol.dispose](): void {
    this.net[Symbol.dispose]();
    assertEquals(fakesLeft(), this.#before);
    super[Symbol.dispose]();
  }
}

/** All states. */
export const STATES = [
  ...["IDLE", "BOUND", "RESOLVING_ADDR", "ADDR_RESOLVED", "RESOLVING_ROUTE", "ROUTE_RESOLVED"],
  ...["CONNECTING", "RESPONDED", "LISTENING", "REQUESTED", "ACCEPTING", "ESTABLISHED"],
  ...["DISCONNECTING", "DISCONNECTED", "FAILED", "REMOVED"],
];

/** Runs something on a network. Calls on other threads, and the watcher's poll, have ended when it ends. */
export async function onNetwork(body: (bed: FakeBed) => Promise<void>): Promise<void> {
  {
    using bed = new FakeBed();
    using moved = spy(nonblocking(), "ibv_modify_qp");
    using lookedUp = spy(nonblockingRdmacm(), "rdma_resolve_addrinfo");
    await body(bed);
    await Promise.allSettled([...moved.calls, ...lookedUp.calls].map(({ returned }) => returned));
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  // A loop of the library that has just ended may have asked for a turn, which may be a timer.
  await nextTurn();
  await settled();
}

/** Defines a test on a network. */
export function test(title: string, body: (bed: FakeBed) => Promise<void>): void {
  Deno.test(title, () => onNetwork(body));
}

import { assertOpen, type Resource } from "../core/resource.ts";
import { isOfDatagrams } from "./cm_options.ts";
import { CmEventType, type CmState, type PortSpace } from "./enums.ts";

/** What a method of an id needs, and what it leads to. */
interface Transition {
  /** What the method does, for messages. */
  readonly action: string;
  /** The states in which it may be called. */
  readonly from: readonly CmState[];
  /** The state after the system has accepted the call; unchanged if left out. */
  readonly to?: CmState | undefined;
  /** It may not be called while another method moves the queue pair. */
  readonly isAlone?: true | undefined;
  /** It is about the end of a connection, which datagrams do not have. */
  readonly isEnd?: true | undefined;
  /** It may also be called when the connection has ended. */
  readonly isLast?: true | undefined;
}

/** States in which the queue pair belongs to a connection. */
const CONNECTED: readonly CmState[] = [
  ...["CONNECTING", "RESPONDED", "ACCEPTING", "ESTABLISHED", "DISCONNECTING"] as const,
];
/** States of a connection that exists, whatever happens to the neighbour that leads to the peer. */
const EXISTING: readonly CmState[] = [
  ...["RESPONDED", "ESTABLISHED", "DISCONNECTING", "DISCONNECTED"] as const,
];
/** States after which no event comes that a method could wait for. */
const OVER: readonly CmState[] = ["FAILED", "DISCONNECTED", "REMOVED"];

/** The methods that depend on the state. All others may be called in each. */
const TRANSITIONS = {
  bindAddr: { action: "bind address", from: ["IDLE"], to: "BOUND" },
  resolveAddr: { action: "resolve address", from: ["IDLE", "BOUND"], to: "RESOLVING_ADDR" },
  resolveRoute: { action: "resolve route", from: ["ADDR_RESOLVED"], to: "RESOLVING_ROUTE" },
  resolveAddrInfo: {
    action: "look up addresses",
    from: ["IDLE", "BOUND", "ADDR_RESOLVED", "ROUTE_RESOLVED"],
  },
  listen: { action: "listen", from: ["IDLE", "BOUND"], to: "LISTENING" },
  connect: { action: "connect", from: ["ROUTE_RESOLVED"], to: "CONNECTING" },
  establish: {
    action: "establish",
    from: ["RESPONDED", "ESTABLISHED"],
    to: "ESTABLISHED",
    isAlone: true,
  },
  accept: { action: "accept", from: ["REQUESTED"], to: "ACCEPTING", isAlone: true },
  /** A request for datagrams ends with the reply. */
  acceptDatagrams: { action: "accept", from: ["REQUESTED"], to: "ESTABLISHED", isAlone: true },
  reject: { action: "reject", from: ["REQUESTED", "RESPONDED"], to: "FAILED", isAlone: true },
  notify: { action: "notify", from: ["ACCEPTING", "ESTABLISHED"] },
  disconnect: {
    action: "disconnect",
    from: ["RESPONDED", "ACCEPTING", "ESTABLISHED", "DISCONNECTED"],
    to: "DISCONNECTING",
    isAlone: true,
    isEnd: true,
  },
  disconnected: {
    action: "wait for the end",
    from: [...CONNECTED, "REQUESTED"],
    isEnd: true,
    isLast: true,
  },
  joinMulticast: { action: "join group", from: ["BOUND", "ADDR_RESOLVED", "ROUTE_RESOLVED"] },
} as const satisfies Readonly<Record<string, Transition>>;

/** The states on the way to a connection. */
const BEFORE: readonly CmState[] = [
  "IDLE",
  "BOUND",
  "RESOLVING_ADDR",
  "ADDR_RESOLVED",
  "RESOLVING_ROUTE",
];

/** What leads to a state from those before it, in messages. */
const LEADS: { readonly [state in CmState]?: string } = {
  ADDR_RESOLVED: ": resolveAddr() leads there",
  ROUTE_RESOLVED: ": resolveAddr() and resolveRoute() lead there",
};

function wayTo(state: CmState, now: CmState): string {
  if (state === "REQUESTED") return ": it is that of the id of an event CONNECT_REQUEST";
  return BEFORE.includes(now) ? LEADS[state] ?? "" : "";
}

/** A method that depends on the state. */
export type Method = keyof typeof TRANSITIONS;

const TYPE = CmEventType;

/** The state that an event leads to. Other events change nothing. */
const AFTER_EVENT: { readonly [event: number]: CmState } = {
  [TYPE.ADDR_RESOLVED]: "ADDR_RESOLVED",
  [TYPE.ADDR_ERROR]: "BOUND",
  [TYPE.ROUTE_RESOLVED]: "ROUTE_RESOLVED",
  [TYPE.ROUTE_ERROR]: "ADDR_RESOLVED",
  [TYPE.CONNECT_RESPONSE]: "RESPONDED",
  [TYPE.ESTABLISHED]: "ESTABLISHED",
  [TYPE.CONNECT_ERROR]: "FAILED",
  [TYPE.UNREACHABLE]: "FAILED",
  [TYPE.REJECTED]: "FAILED",
  [TYPE.DISCONNECTED]: "DISCONNECTED",
  [TYPE.DEVICE_REMOVAL]: "REMOVED",
};

/** The state of an id, and what may be done in it. `E` is the class of its events. */
export class CmStates<E extends { readonly event: CmEventType }> {
  readonly #owner: Resource;
  readonly #portSpace: PortSpace;
  #now: CmState;
  #end: E | undefined;
  /** Whether a method moves the queue pair on another thread. */
  isMoving = false;

  constructor(owner: Resource, portSpace: PortSpace, first: CmState) {
    this.#owner = owner;
    this.#portSpace = portSpace;
    this.#now = first;
  }

  get now(): CmState {
    return this.#now;
  }

  /** The event that has ended the connection. */
  get end(): E | undefined {
    return this.#end;
  }

  /** Whether the queue pair belongs to a connection. */
  get isConnected(): boolean {
    return CONNECTED.includes(this.#now);
  }

  /** Whether there is a connection, whatever happens to the neighbour that leads to the peer. */
  get exists(): boolean {
    return EXISTING.includes(this.#now);
  }

  /** Whether no event comes any more that a method could wait for. */
  get isOver(): boolean {
    return OVER.includes(this.#now);
  }

  /**
   * Checks that a method may be called.
   *
   * @throws {TypeError} If the state does not allow it. The message names the state.
   */
  assert(method: Method, action: string = TRANSITIONS[method].action): void {
    const { from, isAlone, isEnd, isLast }: Transition = TRANSITIONS[method];
    assertOpen(this.#owner);
    if (!from.includes(this.#now) && !(isLast && this.#end !== undefined)) {
      throw new TypeError(
        `Cannot ${action}: the connection identifier is in state ${this.#now}, and ${
          from.join(" or ")
        } is needed${wayTo(from[0]!, this.#now)}`,
      );
    }
    if (isAlone && this.isMoving) {
      throw new TypeError(`Cannot ${action}: a method of the id is moving the queue pair`);
    }
    if (isEnd && isOfDatagrams(this.#portSpace)) {
      throw new TypeError(`Cannot ${action}: the id is for datagrams, which have no connection`);
    }
  }

  /** Call it when the system has accepted the call of a method. */
  enter(method: Method): void {
    const { to }: Transition = TRANSITIONS[method];
    if (to !== undefined) this.#now = to;
  }

  /** Enters the state that an event leads to. Returns whether the event has ended the connection. */
  follow(event: E): boolean {
    const { event: type } = event;
    const next = AFTER_EVENT[type];
    if (next === undefined || type === TYPE.UNREACHABLE && this.exists) return false;
    this.#now = next;
    if (this.isOver) this.#end ??= event;
    return this.isOver;
  }
}

import type { ArmedBell, Watcher } from "./bell.ts";
import type { Timer } from "./clock.ts";
import { Waiters } from "./waiters.ts";

/** An object that looks now and then: see idle_check.ts. */
export interface Looker {
  /** Looks if it is time. Returns whether it goes on. */
  turn(now: number): boolean;
}

/** Who has caused a call: the program, a stranger who wants to connect, or one who has sent a datagram. */
export type Cause = "program" | "connection" | "datagram";

/** Calls with one cause: how many run, and those that wait for their turn. */
interface CallQueue {
  running: number;
  readonly waiting: Waiters<object, void>;
}

/** The state of all waiting in a thread of JavaScript. No other module has variables. */
export const state: {
  /** This turn of the event loop: see turns.ts. */
  readonly turn: {
    /** When it began. */
    start: number;
    /** Steps since then. */
    steps: number;
    /** The step that looks at the clock next. */
    nextLook: number;
    /** When the next one was requested, in the time of `clock.precise()`. */
    asked: number;
    /** Resolves in the next one, if one was requested. */
    next: Promise<void> | undefined;
    /** Whether a loop waits for the next one because it may not continue. */
    isWaited: boolean;
    /** Whether a reader was late in the last one, and whether one is in this one. */
    isBehind: boolean;
    willBeBehind: boolean;
    /** Turns that loops have waited for. */
    waited: number;
  };
  /**
   * What is read in turns that a loop has waited for, before the loop goes on: a part of it in each. While a loop runs, the
   * event loop looks only once in some turns at what other threads report, and so at events: what the loop sends to a reader
   * of the same process would wait meanwhile. It must not throw.
   */
  readonly readers: Set<() => unknown>;
  /** How many waits have polled. */
  polls: number;
  /**
   * Requests that were not posted yet. A wait that polls holds up everything else, even requests that its answer
   * depends on: so these are posted first.
   */
  readonly unposted: Set<{ readonly flush: () => void }>;
  /** The objects that look now and then, and the one timer that they share. */
  readonly idleChecks: {
    readonly all: Set<Looker>;
    /** How many of them do not rest. */
    on: number;
    /** How many keep the process alive. */
    held: number;
    timer: Timer | undefined;
    /** When the timer is over, and whether it is one of many milliseconds. */
    due: number;
    isLong: boolean;
  };
  /** The line of native work: see paced.ts. */
  readonly line: { last: Promise<unknown>; waiting: number };
  /** The calls on other threads: see call_queues.ts. */
  readonly callQueues: Readonly<Record<Cause, CallQueue>>;
  /**
   * How to wait for a completion queue whose channel has no other waits. The class of queues sets it when it is loaded.
   */
  bellOf: (queue: object) => ArmedBell;
  /** The object that waits for descriptors, made by the first wait: see descriptors.ts. */
  descriptors: Watcher | undefined;
} = {
  turn: {
    start: -Infinity,
    steps: 0,
    nextLook: 0,
    asked: -Infinity,
    next: undefined,
    isWaited: false,
    isBehind: false,
    willBeBehind: false,
    waited: 0,
  },
  readers: new Set(),
  polls: 0,
  unposted: new Set(),
  idleChecks: { all: new Set(), on: 0, held: 0, timer: undefined, due: Infinity, isLong: false },
  line: { last: Promise.resolve(), waiting: 0 },
  callQueues: { program: callQueue(), connection: callQueue(), datagram: callQueue() },
  bellOf: () => {
    throw new TypeError("Cannot wait for completions: there are no completion queues");
  },
  descriptors: undefined,
};

function callQueue(): CallQueue {
  return { running: 0, waiting: new Waiters() };
}

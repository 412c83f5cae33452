import { timeoutUntil } from "../../wait/descriptors.ts";
import type { IbvCompChannel, IbvCq } from "../../ffi/handles.ts";
import { constants, structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { libibverbs } from "../../ffi/library/discovery.ts";
import { opAddress } from "../../ffi/library/ops.ts";
import { functionAddress } from "../../ffi/libc.ts";
import { NativeSteps, type openSteps } from "../../ffi/library/native_steps.ts";
import { bufferAddress, handleAddress } from "../../ffi/pointers.ts";
import { readNative } from "../../ffi/struct.ts";
import type { BatchCore } from "./cq_core.ts";

/** The steps, by their numbers. */
const POLL = 1;
const SLEEP = 2;
const READ = 3;
const POLL_AGAIN = 4;
/** A value that the last step never returns. */
const NEVER = -0x8000_0000;
/** Acknowledging takes a lock, so it is done for many events together. */
const TOGETHER = 1024;

/** What `CqSleep.sleep` found. */
export interface Woken {
  /** What the last poll returned; 0 if there was none. */
  readonly polled: number;
  /** The address of the queue whose event was read. That of another queue is not acknowledged. */
  readonly event?: bigint | undefined;
}

/** Arms a queue, polls it once more, sleeps until an event, and polls again, in one native call. */
export class CqSleep {
  /** The address of the queue. */
  readonly own: bigint;
  readonly #cq: IbvCq;
  readonly #steps: NativeSteps;
  readonly #descriptors: Int32Array<ArrayBuffer>;
  /** The queue of the event and its `cq_context`. */
  readonly #event: BigUint64Array<ArrayBuffer> = new BigUint64Array(2);
  #batch: BatchCore<unknown> | undefined;
  #unacknowledged = 0;

  /** Does not sleep yet. The queue must have a channel, and poll by `ibv_poll_cq`. */
  constructor(
    cq: IbvCq,
    channel: IbvCompChannel,
    steps: ReturnType<typeof openSteps>,
  ) {
    this.#cq = cq;
    this.own = handleAddress(cq);
    const fd = readNative(channel, structs.ibv_comp_channel.fields.fd);
    this.#descriptors = Int32Array.of(fd, constants.POLLIN);
    const event = bufferAddress(this.#event);
    const poll = opAddress(["ibv_cq", "ops", "poll_cq"], cq);
    this.#steps = new NativeSteps(steps, [
      {
        address: opAddress(["ibv_cq", "ops", "req_notify_cq"], cq),
        args: [this.own, 0n],
        wanted: 0,
      },
      { address: poll, args: [this.own], wanted: 0 },
      { address: functionAddress("poll"), args: [bufferAddress(this.#descriptors), 1n], wanted: 1 },
      {
        address: libibverbs.symbolAddress("ibv_get_cq_event"),
        args: [handleAddress(channel), event, event + 8n],
        wanted: 0,
      },
      { address: poll, args: [this.own], wanted: NEVER },
    ]);
  }

  /**
   * Sleeps once, for 10 seconds at most. It may be woken without a completion: by a signal, by the event of another
   * queue, by a late event, or by an error, which the next call finds again.
   */
  sleep(batch: BatchCore<unknown>, until: number): Woken {
    if (this.#batch !== batch) this.#pollInto(batch);
    this.#steps.set(SLEEP, 2, BigInt(timeoutUntil(until)));
    const done = this.#steps.run();
    if (done <= READ) return { polled: done === POLL ? this.#steps.result(POLL) : 0 };
    const event = this.#event[0]!;
    if (event === this.own && ++this.#unacknowledged >= TOGETHER) this.acknowledge();
    return { polled: this.#steps.result(POLL_AGAIN), event };
  }

  /** Acknowledges all events of the queue that were read here: otherwise it cannot be destroyed. */
  acknowledge(): void {
    if (this.#unacknowledged > 0) verbs().ibv_ack_cq_events(this.#cq, this.#unacknowledged);
    this.#unacknowledged = 0;
  }

  #pollInto(batch: BatchCore<unknown>): void {
    this.#batch = batch;
    for (const step of [POLL, POLL_AGAIN]) {
      this.#steps.set(step, 1, BigInt(batch.capacity));
      this.#steps.set(step, 2, handleAddress(batch.pointer));
    }
  }
}

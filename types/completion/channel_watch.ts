import type { IbvCompChannel } from "../../ffi/handles.ts";
import type { FdWait } from "../../ffi/fd_watcher.ts";
import type { NativeResource } from "../core/native_resource.ts";
import { beginWait, endWait } from "../core/resource.ts";
import type { EventSource } from "../device/event_source.ts";

/**
 * Waits for the events of a channel for one who reads completions when it is called back, and the event itself when it arms
 * the queue again: what the event tells of comes first, and no promise is between.
 */
export class ChannelWatch {
  readonly #channel: NativeResource<IbvCompChannel>;
  readonly #source: Pick<EventSource<unknown, unknown>, "watch" | "readOnce">;
  readonly #onReadable: (error?: unknown) => void;
  #ended: Promise<void> = Promise.resolve();
  /** The wait of the watcher, while there is one. */
  #wait: FdWait | undefined;
  #isArmed = false;

  /** Waits for nothing yet. `onReadable` gets the error if the system refuses to wait. */
  constructor(
    channel: NativeResource<IbvCompChannel>,
    source: Pick<EventSource<unknown, unknown>, "watch" | "readOnce">,
    onReadable: (error?: unknown) => void,
  ) {
    this.#channel = channel;
    this.#source = source;
    this.#onReadable = onReadable;
  }

  /** Arms the queue of the channel. The event that has come since it was armed, if there is one, is read before. */
  arm(queue: { readonly reqNotify: () => void }): void {
    if (this.#isArmed) this.#source.readOnce();
    queue.reqNotify();
    this.#isArmed = true;
  }

  /** Waits for the next event. The process stays alive during the wait if it is held. */
  begin(isHeld: boolean): void {
    if (this.#wait !== undefined) return this.hold(isHeld);
    this.#wait = this.#source.watch(isHeld, (error) => {
      this.#wait = undefined;
      endWait(this.#channel);
      this.#onReadable(error);
    });
    beginWait(this.#channel);
  }

  /** Says whether the process stays alive for the wait, if there is one. */
  hold(isHeld: boolean): void {
    this.#wait?.hold(isHeld);
  }

  /** Ends the wait. Resolves when nothing uses the descriptor any more, however often it is called. */
  end(): Promise<void> {
    const wait = this.#wait;
    this.#wait = undefined;
    if (wait !== undefined) this.#ended = wait.cancel().then(() => endWait(this.#channel));
    return this.#ended;
  }
}

import { structs } from "../../ffi/layout.ts";
import type { AddressHandle } from "../address_handle/address_handle.ts";
import * as handles from "../address_handle/address_handle.ts";
import type { SendTracker } from "../completion/send_tracker.ts";
import type { ProtectionDomain } from "../memory/protection_domain.ts";
import type { SendRules } from "./check_send.ts";
import { SendFlags } from "./work_request.ts";

// A constant of the module, which V8 folds: see send_requests.ts.
const { noteSend } = handles;
const { size: SIZE, fields } = structs.ibv_send_wr;
const FLAGS = fields.send_flags.offset >> 2;
const { SIGNALED } = SendFlags;

/**
 * A run of sends. Of datagrams it knows which address handles they use, and up to which completion. That is summed up when
 * the run is checked, so that posting the run again only notes the sums.
 */
export class SendRun {
  /** The first request of the run. */
  first: Deno.PointerObject;
  /** The address handles of the list's requests. */
  readonly #ahs: readonly (AddressHandle | undefined)[];
  /** The number of each send of the run, counted as in {@linkcode SendTracker}. */
  readonly #numbers: Int32Array<ArrayBuffer>;
  #start = 0;
  #end = 0;
  /** Whether a request of the list binds a memory window. */
  binds = false;
  /** How many sends of the run are signaled. */
  #signaled = 0;
  /** The address handles of the run, each with the number of its last send. */
  readonly #used: (AddressHandle | undefined)[];
  readonly #lastNumbers: Int32Array<ArrayBuffer>;
  #count = 0;
  #changed = false;
  /** The only address handle of the run, if it has one only, and the number of its last send: this saves 1 ns. */
  #only: AddressHandle | undefined = undefined;
  #last = 0;
  /**
   * The index of the run's only request; -1 if it has several. Its address handle is the only one after a change, too: a
   * request that is changed and posted takes 23 ns instead of 25.
   */
  #single = 0;
  /** The protection domain that the address handles of the run were checked against. */
  pd: ProtectionDomain | undefined;

  /** Sums up runs of the requests that have these address handles. */
  constructor(ahs: readonly (AddressHandle | undefined)[], first: Deno.PointerObject) {
    this.first = first;
    this.#ahs = ahs;
    this.#numbers = new Int32Array(ahs.length);
    this.#used = new Array(ahs.length).fill(undefined);
    this.#lastNumbers = new Int32Array(ahs.length);
  }

  /** Notes that the address handle of a request was changed since the run was summed up. */
  noteAh(index: number, ah: AddressHandle): void {
    if (index === this.#single) this.#only = ah;
    else {
      this.#changed = true;
      this.#only = undefined;
    }
  }

  /** Sums up a run. */
  sumUp(words: Uint32Array, start: number, count: number, { pd, allSignaled }: SendRules): void {
    this.pd = pd;
    this.#start = start;
    this.#end = start + count;
    this.#signaled = 0;
    this.#count = 0;
    this.#changed = false;
    this.#only = undefined;
    this.#single = -1;
    if (pd === undefined) return;
    if (count === 1) this.#single = start;
    for (let i = start; i < start + count; i++) {
      const signaled = allSignaled || (words[i * (SIZE >> 2) + FLAGS]! & SIGNALED) !== 0;
      const number = this.#signaled + 1;
      if (signaled) this.#signaled = number;
      this.#numbers[i] = number;
      if (i === start || this.#ahs[i] !== this.#ahs[i - 1]) {
        this.#used[this.#count++] = this.#ahs[i];
      }
      this.#lastNumbers[this.#count - 1] = number;
    }
    if (this.#count === 1) {
      this.#only = this.#used[0];
      this.#last = this.#lastNumbers[0]!;
    }
  }

  /** Notes that the run was posted. */
  posted(tracker: SendTracker): void {
    const before = tracker.posted(this.#signaled);
    const ah = this.#only;
    if (ah !== undefined) noteSend(ah, tracker, before + this.#last);
    else if (this.#changed) this.#noteEach(tracker, before);
    else this.#noteUsed(tracker, before);
  }

  #noteUsed(tracker: SendTracker, before: number): void {
    for (let i = 0; i < this.#count; i++) {
      noteSend(this.#used[i]!, tracker, before + this.#lastNumbers[i]!);
    }
  }

  #noteEach(tracker: SendTracker, before: number): void {
    const ahs = this.#ahs;
    const numbers = this.#numbers;
    const last = this.#end - 1;
    let ah = ahs[this.#start]!;
    for (let i = this.#start; i < last; i++) {
      const next = ahs[i + 1]!;
      if (ah !== next) noteSend(ah, tracker, before + numbers[i]!);
      ah = next;
    }
    noteSend(ah, tracker, before + numbers[last]!);
  }
}

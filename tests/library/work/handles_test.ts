// Address handles live until the sends that use them are done, however lists are changed, posted, refused and completed.
import { assertEquals, assertThrows } from "@std/assert";
import * as recorder from "../../provider/recorder.ts";
import { type AddressHandle, QpType, SendFlags, VerbsError } from "../../../mod.ts";
import { Random } from "../../random.ts";
import { completeSends, datagrams, failAt, handle, record } from "./recorded.ts";

const SIZE = 4;

/** A list of datagrams on a queue pair, and what must be alive. */
class Model {
  readonly parts = record(QpType.UD);
  readonly slots = Array.from({ length: SIZE }, () => handle(this.parts.pd));
  readonly list = datagrams(this.slots);
  readonly made = new Set(this.slots);
  readonly #signaled = this.slots.map(() => true);
  /** Sends that were posted, each with the signaled send at whose completion it is done. */
  readonly #sends: { readonly ah: AddressHandle; readonly until: number }[] = [];
  #posted = 0;
  #completed = 0;

  /** Native handles: those that are open, and those that a send in progress uses. */
  get alive(): number {
    const used = this.#sends.filter(({ until }) => until > this.#completed).map(({ ah }) => ah);
    return [...this.made].filter((ah) => !ah.disposed || used.includes(ah)).length;
  }

  /** Gives so many requests one new handle. */
  setAh(from: number, count: number): void {
    const ah = handle(this.parts.pd);
    this.made.add(ah);
    for (let i = from; i < from + count; i++) {
      this.slots[i] = ah;
      this.list.setAh(i, ah);
    }
  }

  setSignaled(i: number, signaled: boolean): void {
    this.#signaled[i] = signaled;
    this.list.setSendFlags(i, signaled ? SendFlags.SIGNALED : 0);
  }

  /** Posts a part of the list, of which the device refuses what comes after so many requests. */
  post(from: number, count: number, most: number): void {
    const { qp } = this.parts;
    const run = this.slots.slice(from, from + count);
    const post = () => qp.postSend(this.list, from, count);
    if (run.some(({ disposed }) => disposed)) {
      assertThrows(post, TypeError, "is disposed");
      return;
    }
    if (most < count) {
      failAt(most);
      assertEquals(assertThrows(post, VerbsError).posted, most);
    } else post();
    for (const [i, ah] of run.slice(0, most).entries()) {
      const isSignaled = this.#signaled[from + i]!;
      this.#sends.push({ ah, until: this.#posted + 1 });
      if (isSignaled) this.#posted++;
    }
  }

  complete(): void {
    if (this.#completed === this.#posted) return;
    completeSends(this.parts);
    this.#completed++;
  }
}

function play(seed: number): void {
  const random = new Random(seed);
  const model = new Model();
  using parts = model.parts;
  for (let step = 0; step < 80; step++) {
    const i = random.below(SIZE);
    const count = 1 + random.below(SIZE - i);
    const actions = [
      () => model.setAh(i, count),
      () => model.setAh(0, SIZE),
      () => model.setSignaled(i, !random.oneIn(3)),
      () => model.slots[i]!.close(),
      () => model.complete(),
      () => model.complete(),
      () => model.post(i, count, random.oneIn(2) ? Math.min(seed % SIZE, count) : count),
      () => model.post(0, SIZE, SIZE),
    ];
    random.pick(actions)();
    assertEquals(recorder.live("ah"), model.alive, `seed ${seed}, step ${step}`);
  }
  for (const ah of model.made) ah.close();
  parts.qp.close();
  assertEquals([recorder.live("ah"), recorder.violations()], [0, []]);
}

for (let first = 0; first < 40; first += 10) {
  Deno.test(`Address handles live until their sends are done, in orders from ${first} on`, () => {
    for (let seed = first; seed < first + 10; seed++) play(seed);
  });
}

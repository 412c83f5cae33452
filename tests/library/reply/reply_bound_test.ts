// Reply paths whose peers are more than they have room for: they keep what they promise, in whatever order peers come.
import { assert, assertEquals } from "@std/assert";
import { stub } from "@std/testing/mock";
import * as recorder from "../../provider/recorder.ts";
import { type AddressHandle, EventType, ReplyPath } from "../../../mod.ts";
import { structs } from "../../../ffi/layout.ts";
import { verbs } from "../../../ffi/library.ts";
import { readField } from "../../../ffi/struct.ts";
import { onPd } from "../recorded.ts";

const MAX_PEERS = 32;
const ANSWERS = 4000;

/** A repeatable sequence of numbers from 0 to below 1. */
function randoms(): () => number {
  let state = 7;
  return () => (state = Math.imul(state, 1_664_525) + 1_013_904_223 >>> 0) / 2 ** 32;
}

/** The peer that is answered next. */
type Order = () => number;

function zipf(peers: number): Order {
  const random = randoms();
  const weights = Array.from({ length: peers }, (_, i) => 1 / (i + 1));
  const sum = weights.reduce((a, b) => a + b);
  return () => {
    let left = random() * sum;
    const peer = weights.findIndex((weight) => (left -= weight) < 0);
    return peer < 0 ? 0 : peer;
  };
}

function uniform(peers: number): Order {
  const random = randoms();
  return () => Math.floor(random() * peers);
}

function cyclic(peers: number): Order {
  let next = 0;
  return () => next++ % peers;
}

/** There and back again: the peer that was answered last comes first. */
function swinging(peers: number): Order {
  let next = 0;
  return () => Math.abs(next++ % (2 * peers) - peers + 1);
}

const ORDERS: Record<string, () => Order> = {
  "by a Zipf law over 500": () => zipf(500),
  "evenly from 40": () => uniform(40),
  "one after the other from as many as there is room for": () => cyclic(MAX_PEERS),
  "one after the other from one more than there is room for": () => cyclic(MAX_PEERS + 1),
  "one after the other from 500": () => cyclic(500),
  "back and forth over 40": () => swinging(40),
};

/** What a path gave out: each handle with the peer and the change of addresses that it was made for. */
class Book implements Disposable {
  readonly #owners: Map<AddressHandle, string> = new Map();
  readonly #recent: AddressHandle[] = [];
  readonly #create = verbs().ibv_create_ah;
  readonly #stub = stub(verbs(), "ibv_create_ah", (pd, attr) => {
    this.made.push(dlidOf(attr as ArrayBufferView<ArrayBuffer>));
    return this.#create(pd, attr);
  });
  /** The LIDs that handles were made for since the last answer. */
  readonly made: number[] = [];

  note(ah: AddressHandle, lid: number, changes: number): void {
    const owner = `${lid} after ${changes} changes`;
    for (const dlid of this.made.splice(0)) {
      assertEquals(dlid, lid);
      this.#owners.set(ah, owner);
    }
    assertEquals(this.#owners.get(ah), owner);
    this.#recent.push(ah);
    if (this.#recent.length > MAX_PEERS) this.#recent.shift();
    assert(this.#recent.every(({ disposed }) => !disposed), "a handle was closed too early");
  }

  [Symbol.dispose](): void {
    this.#stub.restore();
  }
}

function dlidOf({ buffer, byteOffset, byteLength }: ArrayBufferView<ArrayBuffer>): number {
  const { dlid } = structs.ibv_ah_attr.fields;
  return readField(new DataView(buffer, byteOffset, byteLength), dlid);
}

for (const [how, order] of Object.entries(ORDERS)) {
  for (const change of [Infinity, 97]) {
    const when = change === Infinity ? "" : `, with a change of addresses every ${change} answers`;
    onPd.test(`ReplyPath keeps each handle for maxPeers - 1 further answers when peers come ${how}${when}`, (recorded) => {
      const { pd } = recorded;
      using path = new ReplyPath(pd, { portNum: 1, maxPeers: MAX_PEERS });
      using book = new Book();
      const next = order();
      let changes = 0;
      for (let answer = 1; answer <= ANSWERS; answer++) {
        const lid = 1 + next();
        if (answer % change === 0) {
          recorder.sendAsyncEvent(EventType.LID_CHANGE, 1);
          changes++;
        }
        book.note(path.to({ wcFlags: 0, slid: lid, sl: 0, dlidPathBits: 0 }), lid, changes);
        assert(path.size <= MAX_PEERS);
        assert(recorder.live("ah") <= 2 * MAX_PEERS + 1, `there are ${recorder.live("ah")}`);
      }
    });
  }
}

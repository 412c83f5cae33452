import { assertEquals, assertRejects } from "@std/assert";
import { stub } from "@std/testing/mock";
import { WcStatus, type WorkCompletionError, WorkCompletionList } from "../../../mod.ts";
import { structs } from "../../../ffi/layout.ts";
import { type Datagram, Receiver, type ReceiverParts } from "../../../net/ud/receiver.ts";
import type { ArmedBell, Need, Sleep } from "../../../wait/bell.ts";
import { state } from "../../../wait/state.ts";
import { batchCore } from "../../../types/completion/work_completion_list.ts";

const { size: WC, fields } = structs.ibv_wc;
const GRH = 40;
const SLOT = GRH + 8;
const SLOTS = 6;
const MAX_QUEUED = 2;

/** A receiver with a queue pair that does what a test says. */
class Bed {
  readonly memory = new Uint8Array(SLOTS * SLOT);
  /** The slots that are posted, oldest first. */
  readonly posted: number[] = [];
  readonly errors: string[] = [];
  received = 0;
  /** Whether the sender of a datagram can be told. */
  isKnown = true;
  readonly receiver: Receiver;
  #notify: () => void = () => {};
  #arrived: { byte: number; status: number }[] = [];

  constructor(isReliable = false) {
    const parts = {
      qp: {
        postRecv: (_: unknown, start: number, count: number) => {
          for (let i = 0; i < count; i++) this.posted.push(start + i);
        },
      },
      cq: {
        pollInto: (batch: WorkCompletionList) => this.#poll(batch),
      },
      mr: {
        length: this.memory.length,
        bytes: this.memory,
        sge: (_: number, length: number) => ({ addr: 0n, length, lkey: 1 }),
      },
      batch: new WorkCompletionList(64),
      headroom: GRH,
      slotSize: SLOT,
      overflow: 0,
      maxQueued: MAX_QUEUED,
      isReliable,
      peers: { sender: () => this.isKnown ? { gid: "a peer" } : undefined },
      spinMicroseconds: 0,
      onReceived: () => this.received++,
      onError: (error: WorkCompletionError) => this.errors.push(error.message.split(":")[1]!),
    };
    using _bell = stub(state, "bellOf", () => this.#bell());
    this.receiver = new Receiver(parts as unknown as ReceiverParts);
  }

  #bell(): ArmedBell {
    const nothing = (): void => {};
    const sleep = (_: Need, wake: () => void): Sleep => {
      this.#notify = wake;
      return { hold: nothing, cancel: nothing };
    };
    return { arm: nothing, bell: { sleep, sleepSync: () => false } };
  }

  /** A datagram of one byte arrives, or a receive fails. */
  arrive(byte: number, status: number = WcStatus.SUCCESS): void {
    this.#arrived.push({ byte, status });
  }

  /** Has the receiver read what has arrived. */
  async notify(): Promise<void> {
    this.#notify();
    while (this.#arrived.length > 0) await new Promise((resolve) => setTimeout(resolve, 1));
  }

  #poll(batch: WorkCompletionList): number {
    const { view } = batchCore(batch);
    const arrived = this.#arrived.splice(0, 64);
    for (const [i, { byte, status }] of arrived.entries()) {
      const slot = this.posted.shift()!;
      this.memory[slot * SLOT + GRH] = byte;
      view.setUint32(i * WC + fields.wr_id.offset, slot, true);
      view.setUint32(i * WC + fields.status.offset, status, true);
      view.setUint32(i * WC + fields.byte_len.offset, GRH + 1, true);
    }
    batchCore(batch).polled(arrived.length);
    return arrived.length;
  }

  /** Takes so many datagrams. Returns their bytes. */
  async take(count: number): Promise<number[]> {
    const bytes: number[] = [];
    while (bytes.length < count) {
      const [message] = await this.receiver.receive(undefined, undefined);
      bytes.push(message[0]!);
    }
    return bytes;
  }

  close(): void {
    this.receiver.close(new Error("closed"));
  }
}

Deno.test("Receiver posts the slots again in order, while datagrams wait in others", async () => {
  const bed = new Bed();
  assertEquals(bed.posted, [0, 1, 2, 3]);
  for (let byte = 0; byte < 12; byte++) {
    bed.arrive(byte);
    assertEquals(await bed.take(1), [byte]);
    assertEquals(bed.posted, [1, 2, 3, 4].map((slot) => (slot + byte) % SLOTS));
  }
  assertEquals([bed.received, bed.receiver.received, bed.receiver.errors], [12, 12, 0]);
  bed.close();
});

Deno.test("Receiver keeps a datagram that does not fit, and what has come when it fails", async () => {
  const bed = new Bed();
  const receive = (length: number): Promise<Datagram> =>
    bed.receiver.receive(new Uint8Array(length), undefined);
  bed.arrive(7);
  await assertRejects(() => receive(0), RangeError, "1 bytes");
  bed.receiver.fail(new Error("gone"));
  assertEquals((await receive(1))[0], Uint8Array.of(7));
  bed.arrive(8);
  await assertRejects(() => receive(1), Error, "gone");
  bed.close();
});

const { WR_FLUSH_ERR, LOC_LEN_ERR } = WcStatus;

for (
  const [what, statuses, errors, message] of [
    ["was flushed", [WR_FLUSH_ERR, WR_FLUSH_ERR], 0, " WR_FLUSH_ERR"],
    ["has failed", [LOC_LEN_ERR, WR_FLUSH_ERR], 1, " LOC_LEN_ERR"],
  ] as const
) {
  Deno.test(`Receiver posts nothing after a receive that ${what}, until the restart`, async () => {
    const bed = new Bed();
    bed.arrive(1);
    for (const status of statuses) bed.arrive(0, status);
    // What came before the failure can be taken.
    assertEquals(await bed.take(1), [1]);
    assertEquals([bed.posted, bed.received, bed.receiver.errors], [[3], 0, errors]);
    assertEquals(bed.errors.map((error) => error.includes(message.trim())), [true]);
    bed.arrive(0, WR_FLUSH_ERR);
    bed.receiver.drain();
    assertEquals([bed.posted, bed.errors.length], [[], 2]);
    bed.receiver.restart();
    assertEquals(bed.posted, [0, 1, 2, 3]);
    for (let byte = 2; byte < 11; byte++) {
      bed.arrive(byte);
      assertEquals(await bed.take(1), [byte]);
    }
    assertEquals([bed.received, bed.receiver.dropped, bed.posted.length], [9, 0, 4]);
    bed.close();
  });
}

Deno.test("Receiver finds each datagram in its slot when receives end in any order", async () => {
  const bed = new Bed();
  bed.posted.reverse();
  for (const byte of [1, 2]) bed.arrive(byte);
  assertEquals(await bed.take(1), [1]);
  // The second one waits in slot 2, which is not posted meanwhile.
  assertEquals(bed.posted, [1, 0, 4, 5]);
  bed.receiver.restart();
  assertEquals(bed.posted.slice(4), [0, 1, 3, 4]);
  assertEquals(await bed.take(1), [2]);
  for (let byte = 3; byte < 20; byte++) {
    bed.posted.push(bed.posted.shift()!);
    bed.arrive(byte);
    assertEquals(await bed.take(1), [byte]);
  }
  bed.close();
});

Deno.test("Receiver keeps reliable messages, and posts receives when there are slots again", async () => {
  const bed = new Bed(true);
  for (const byte of [1, 2, 3]) bed.arrive(byte);
  assertEquals(await bed.take(1), [1]);
  assertEquals(bed.posted, [3, 4, 5, 0]);
  for (const byte of [4, 5, 6, 7]) bed.arrive(byte);
  // All slots are in use.
  await bed.notify();
  assertEquals([bed.posted, bed.receiver.dropped, bed.receiver.received], [[], 0, 7]);
  assertEquals(await bed.take(1), [2]);
  assertEquals(bed.posted, [1]);
  const many = await bed.receiver.receiveMany(new Uint8Array(3), undefined);
  assertEquals(many.map(([message]) => [...message]), [[3], [4], [5]]);
  assertEquals(bed.posted, [1, 2, 3, 4]);
  bed.arrive(8);
  assertEquals(await bed.take(3), [6, 7, 8]);
  assertEquals([bed.posted.length, bed.receiver.dropped], [4, 0]);
  bed.close();
});

Deno.test("Receiver drops datagrams whose sender cannot be told, and posts their slots again", async () => {
  const bed = new Bed();
  bed.isKnown = false;
  for (let count = 0; count < 2 * SLOTS; count++) {
    bed.arrive(count);
    await bed.notify();
    assertEquals(new Set(bed.posted).size, 4);
  }
  bed.isKnown = true;
  bed.arrive(7);
  assertEquals(await bed.take(1), [7]);
  const { received, dropped } = bed.receiver;
  assertEquals([received, dropped], [2 * SLOTS + 1, 2 * SLOTS]);
  bed.close();
});

Deno.test("Receiver.drain() reads what has come, and posts nothing", async () => {
  const bed = new Bed();
  bed.arrive(7);
  bed.receiver.drain();
  assertEquals([bed.posted, bed.received], [[1, 2, 3], 0]);
  assertEquals(await bed.take(1), [7]);
  bed.close();
});

Deno.test("Receiver serves those who wait in order, and rejects them when it is closed", async () => {
  const bed = new Bed();
  const receive = (): Promise<Datagram> => bed.receiver.receive(undefined, undefined);
  const unfit = assertRejects(
    () => bed.receiver.receive(new Uint8Array(0), undefined),
    RangeError,
  );
  const waits = [0, 1, 2].map(receive);
  await undefined;
  bed.arrive(1);
  bed.arrive(2);
  bed.receiver.drain();
  await unfit;
  assertEquals([(await waits[0])![0][0], (await waits[1])![0][0]], [1, 2]);
  const closed = assertRejects(() => waits[2]!, Error, "closed");
  bed.close();
  await closed;
  await assertRejects(receive, Error, "closed");
});

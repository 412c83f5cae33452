// What an end sends while the device acknowledges nothing: the end of a connection always has a place.
import { assertEquals } from "@std/assert";
import { type QueuePair, WcFlags, WcOpcode, type WorkCompletionList } from "../../../mod.ts";
import {
  CONTROL_RECEIVES,
  CONTROL_SENDS,
  CREDIT_SENDS,
  FrameType,
  Protocol,
} from "../../../net/rc/protocol.ts";
import { Receiver } from "../../../net/rc/receiver.ts";
import { type Connection, Sender } from "../../../net/rc/sender.ts";
import type { Slot, Slots } from "../../../net/rc/slots.ts";

const TYPE_SHIFT = 28;
const CREDITS = 8;

/** The two sides of an end, without a device. */
class End {
  /** The types of the frames that were posted, and the credits in them. */
  readonly types: number[] = [];
  credits = 0;
  readonly protocol: Protocol = new Protocol(CREDITS);
  readonly sender: Sender;
  readonly receiver: Receiver;

  constructor(depth = 1, peerCredits = 1) {
    const nothing = (): void => {};
    const connection: Connection = {
      ...{ failure: undefined, read: nothing, spin: nothing, update: nothing, fail: nothing },
    };
    const qp = { postSend: nothing } as unknown as QueuePair;
    const postSend = (_qp: QueuePair, _length: number, immData: number) => this.#sent(immData);
    const calls = { postRecv: nothing, write: nothing, postSend };
    const slotOf = (): Slot => ({ ...calls, bytes: () => new Uint8Array(1) }) as never;
    const slots = { has: () => true, take: slotOf, give: nothing } as unknown as Slots;
    const prepared = { setImmData: (_: number, immData: number) => this.#sent(immData) };
    const parts = { slots, prepared } as never;
    this.sender = new Sender(qp, parts, depth, this.protocol, connection);
    const places = { slots, slot: slotOf() };
    this.receiver = new Receiver(qp, places, this.protocol, this.sender, connection);
    this.protocol.start(peerCredits);
  }

  #sent(immData: number): void {
    this.types.push(immData >>> TYPE_SHIFT);
    this.credits += immData & (1 << TYPE_SHIFT) - 1;
  }

  /** A message comes and is taken. */
  async take(): Promise<void> {
    const immData = FrameType.DATA << TYPE_SHIFT;
    const batch = { wcFlags: () => WcFlags.WITH_IMM, immData: () => immData, byteLen: () => 1 };
    const message = { ...batch, opcode: () => WcOpcode.RECV } as unknown as WorkCompletionList;
    this.receiver.arrived(message, 0);
    this.receiver.serve();
    await this.receiver.messages.receive({ how: "copy" }, undefined);
  }
}

Deno.test("Sender has a place for HELLO, END and BYE while frames of credits are not acknowledged", () => {
  const { sender, types } = new End();
  for (let i = 0; i < CONTROL_SENDS; i++) sender.control(FrameType.CREDIT);
  assertEquals(types, Array(CREDIT_SENDS).fill(FrameType.CREDIT));
  const ends = [FrameType.HELLO, FrameType.END, FrameType.BYE];
  for (const type of ends) sender.control(type);
  assertEquals(types.slice(CREDIT_SENDS), ends);
});

Deno.test("Receiver gives the credits that there was no room for when a send has completed", async () => {
  const end = new End();
  while (end.types.length < CREDIT_SENDS) await end.take();
  const { credits } = end;
  for (let i = 0; i < CREDITS; i++) await end.take();
  assertEquals(end.credits, credits);
  end.sender.complete();
  end.receiver.serve();
  assertEquals(end.credits, credits + CREDITS);
});

Deno.test("Receiver gives no credits when its connection ends", async () => {
  const end = new End();
  end.receiver.end();
  for (let i = 0; i < CONTROL_RECEIVES; i++) await end.take();
  assertEquals(end.types, []);
});

Deno.test("Sender posts as many messages as its depth, and the next one when one has completed", async () => {
  const end = new End(2, CREDITS);
  const send = (): Promise<void> | undefined => end.sender.send(Uint8Array.of(1), undefined);
  assertEquals([send(), send()], [undefined, undefined]);
  const third = send();
  assertEquals([end.types.length, third instanceof Promise], [2, true]);
  end.sender.complete();
  end.sender.serve();
  await third;
  assertEquals(end.types.length, 3);
});

// The protocol of a connection, played without a device.
import { assertEquals, assertThrows } from "@std/assert";
import { FrameType, Protocol } from "../../../net/rc/protocol.ts";

type Name = keyof typeof FrameType;

/** Sends a frame. Returns its type and credits as text. */
function send(end: Protocol, name: Name): string {
  const frame = end.frame(FrameType[name]);
  end.sent(FrameType[name]);
  return `${frame >>> 28}+${frame & 0xfff_ffff}`;
}

/** Consumes a message, and would consume those that have come too. There are receives for all that are promised. */
function take(end: Protocol): void {
  end.consume(end.numbers.waiting - 1);
  for (let wanted = end.wanted(false); wanted > 0; wanted--) end.promise();
}

/** What a step does with an end that has receives for 4 messages; the text of what it gives. */
function step(end: Protocol, text: string): string {
  const [action, name, credits = "0"] = text.split(" ") as [string, Name, string?];
  if (action === "start") end.start(Number(name));
  else if (action === "take") take(end);
  else if (action === "send") return send(end, name);
  else end.receive(FrameType[name] * 2 ** 28 + Number(credits));
  return "";
}

/** The state of an end: what it may send, what it owes, and what the peer has said. */
function stateOf(end: Protocol): string {
  const { hasCredit, owesCredits, ended, peerEnded, peerLeft } = end;
  const all = { hasCredit, owesCredits, ended, peerEnded, peerLeft };
  return Object.entries(all).filter(([, is]) => is).map(([name]) => name).join(" ");
}

/** Steps, and the state after them. Behind "=" stands the frame that a step sends: its type and credits. */
const STORIES: Readonly<Record<string, string>> = {
  "": "",
  "start 1": "hasCredit",
  "start 1, send DATA=1+0": "",
  "start 1, send DATA=1+0, get CREDIT 1": "hasCredit",
  "start 1, send DATA=1+0, get DATA 1, get DATA": "hasCredit",
  "start 1, send HELLO=3+0, send CREDIT=2+0": "hasCredit",
  "start 1, send END=4+0": "hasCredit ended",
  "start 1, send BYE=5+0": "hasCredit",
  "get HELLO, start 2": "hasCredit",
  "get HELLO 1": "hasCredit",
  "get DATA, get DATA, take": "",
  "get DATA, get DATA, take, take": "owesCredits",
  "get DATA, get DATA, take, take, send CREDIT=2+2": "",
  "start 1, get DATA, take, send DATA=1+1, send HELLO=3+0": "",
  "get DATA, get DATA, take, take, get END": "peerEnded",
  "get END, get CREDIT": "peerEnded",
  "get BYE": "peerEnded peerLeft",
  "get DATA, get DATA, get DATA, get DATA, take, get DATA": "",
};

for (const [story, state] of Object.entries(STORIES)) {
  Deno.test(`Protocol after "${story}" is "${state}"`, () => {
    const end = new Protocol(4);
    for (const text of story.split(", ").filter((text) => text !== "")) {
      const [action, frame = ""] = text.split("=") as [string, string?];
      assertEquals(step(end, action), frame, action);
    }
    assertEquals(stateOf(end), state);
  });
}

/** Steps of which the last one breaks the protocol, and how. */
const VIOLATIONS: Readonly<Record<string, string>> = {
  "start 2, get CREDIT 1": "it gives more credits than it has",
  "start 2, get DATA 1": "it gives more credits than it has",
  "get END, get DATA": "it sends a message after its end",
  "get BYE, get DATA": "it sends a message after its end",
  "get DATA, get DATA, get DATA, get DATA, get DATA":
    "it sends more messages than it has credits for",
};

for (const [story, reason] of Object.entries(VIOLATIONS)) {
  Deno.test(`Protocol refuses "${story}"`, () => {
    const end = new Protocol(4);
    const steps = story.split(", ");
    for (const text of steps.slice(0, -1)) step(end, text);
    const message = `Cannot use connection: the peer broke the protocol: ${reason}`;
    assertThrows(() => step(end, steps.at(-1)!), Deno.errors.InvalidData, message);
  });
}

Deno.test("Protocol refuses types that are none, and keeps the highest number of credits", () => {
  for (const immData of [0, 1, 6 * 2 ** 28, 0xffff_ffff]) {
    const receive = (): FrameType => new Protocol(1).receive(immData);
    assertThrows(receive, Deno.errors.InvalidData, "it sends a message of an unknown type");
  }
  const end = new Protocol(2 ** 15);
  for (let i = 0; i < 2 ** 15; i++) {
    end.receive(0x1000_0000);
    take(end);
  }
  assertEquals(end.frame(FrameType.BYE), 0x5000_8000);
});

Deno.test("Protocol says why nothing can be sent", () => {
  const end = new Protocol(1);
  end.assertSending(true);
  end.sent(FrameType.END);
  end.assertSending(false);
  const ended = "Cannot send: the end of the messages was sent";
  assertThrows(() => end.assertSending(true), Deno.errors.BadResource, ended);
  end.receive(FrameType.BYE * 2 ** 28);
  const left = "Cannot send: the peer has closed the connection";
  for (const isMessage of [true, false]) {
    assertThrows(() => end.assertSending(isMessage), Deno.errors.ConnectionReset, left);
  }
});

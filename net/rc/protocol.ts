/** What uses a receive. The immediate data of each message says it. */
export const FrameType = {
  DATA: 1,
  /** New credits only. */
  CREDIT: 2,
  /** The first message of an end, when it is ready. */
  HELLO: 3,
  /** The end sends no more messages. */
  END: 4,
  /** The end closes the connection. It receives nothing any more. */
  BYE: 5,
  /** A write of the application. It is no message: its immediate data is that of the application. */
  WRITE: 6,
} as const;
export type FrameType = typeof FrameType[keyof typeof FrameType];

const { DATA, END, BYE, WRITE } = FrameType;

/** Receives for messages that need no credit: HELLO, END or BYE, and two messages of credits. */
export const CONTROL_RECEIVES = 5;
/** Requests for such messages, and for a check of the peer that has a completion. */
export const CONTROL_SENDS = 8;

const TYPE_SHIFT = 28;

/**
 * The protocol of one end of a connection, without input and output. Each frame carries its type and new credits in its
 * immediate data. A message of the application needs a credit, and so does a write that tells the peer: the peer has a
 * receive for it. The other frames need none, because each end has a few receives more.
 */
export class Protocol {
  peerEnded = false;
  peerLeft = false;
  /** The end of the messages was sent. */
  ended = false;
  /** Messages that this end has receives for, and those of the peer. */
  readonly #capacity: number;
  #peerCapacity = Infinity;
  #credits = 0;
  /** Messages that were consumed without telling the peer. */
  #owed = 0;
  #waiting = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** The peer has receives for so many messages. Frames of the peer may have come before. */
  start(capacity: number): void {
    this.#peerCapacity = capacity;
    this.#credits += capacity;
  }

  get hasCredit(): boolean {
    return this.#credits > 0;
  }

  /** Whether to send a frame of credits alone: other frames carry them too, so only if half of them are owed. */
  get owesCredits(): boolean {
    return 2 * this.#owed >= this.#capacity && !this.peerEnded;
  }

  /**
   * Takes the immediate data of a frame, which is any number: a peer can send what it wants.
   *
   * @throws {Deno.errors.InvalidData} If the peer breaks the protocol.
   */
  receive(immData: number): FrameType {
    const type = immData >>> TYPE_SHIFT;
    this.#credits += immData & (1 << TYPE_SHIFT) - 1;
    if (this.#credits > this.#peerCapacity) throw violation("it gives more credits than it has");
    if (type < DATA || type > BYE) throw violation("it sends a message of an unknown type");
    if (type === DATA) this.#useReceive();
    if (type === END || type === BYE) this.peerEnded = true;
    if (type === BYE) this.peerLeft = true;
    return type as FrameType;
  }

  /**
   * Takes a write of the application.
   *
   * @throws {Deno.errors.InvalidData} If the peer breaks the protocol.
   */
  receiveWrite(): FrameType {
    this.#useReceive();
    return WRITE;
  }

  #useReceive(): void {
    if (this.peerEnded) throw violation("it sends a message after its end");
    if (this.#waiting === this.#capacity) {
      throw violation("it sends more messages than it has credits for");
    }
    this.#waiting++;
  }

  /** A message or a write was consumed: the peer may send another one. */
  consume(): void {
    this.#waiting--;
    this.#owed++;
  }

  /**
   * Checks that the peer still receives, and that a message does not follow the end of the messages.
   *
   * @throws {Deno.errors.ConnectionReset} If the peer has closed the connection.
   * @throws {Deno.errors.BadResource} If the end of the messages was sent.
   */
  assertSending(isMessage: boolean): void {
    if (this.peerLeft) throw peerLeft();
    if (isMessage && this.ended) {
      throw new Deno.errors.BadResource("Cannot send: the end of the messages was sent");
    }
  }

  /** The immediate data of the next frame. */
  frame(type: FrameType): number {
    return (type << TYPE_SHIFT | this.#owed) >>> 0;
  }

  /** A write of the application was posted. */
  sentWrite(): void {
    this.#credits--;
  }

  /** That frame was posted. */
  sent(type: FrameType): void {
    this.#owed = 0;
    if (type === DATA) this.#credits--;
    if (type === END) this.ended = true;
  }
}

export function peerLeft(): Error {
  return new Deno.errors.ConnectionReset("Cannot send: the peer has closed the connection");
}

function violation(what: string): Error {
  return new Deno.errors.InvalidData(`Cannot use connection: the peer broke the protocol: ${what}`);
}

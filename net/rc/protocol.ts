/** Kinds of frames that use a receive. The immediate data of each one has the kind. */
export const FrameType = {
  DATA: 1,
  /** New credits only. */
  CREDIT: 2,
  /** The first message of an end, when it is ready. */
  HELLO: 3,
  /** The end sends no more messages. */
  END: 4,
  /** The end closes the connection, and receives nothing more. */
  BYE: 5,
  /** A write of the application, which is not a message: its immediate data is that of the application. */
  WRITE: 6,
} as const;
export type FrameType = typeof FrameType[keyof typeof FrameType];

const { DATA, HELLO, END, BYE, WRITE } = FrameType;

/** Receives for messages that need no credit: HELLO, END or BYE, and two messages of credits. */
export const CONTROL_RECEIVES = 5;
/** Requests for such messages, and for a check of the peer that has a completion. */
export const CONTROL_SENDS = 8;
/** Those of them for messages of credits: HELLO, END and BYE always have a place. */
export const CREDIT_SENDS: number = CONTROL_SENDS - 3;

/** The fewest promises for which a message and its answer need no frame of credits. */
const FEW = 4;
/** With half of this many the peer can go on while the next ones are on their way. */
const MANY = 16;

const TYPE_SHIFT = 28;

/**
 * The protocol of one end of a connection, without input and output. Each frame carries its type and new credits in its
 * immediate data. A message of the application needs a credit, and so does a write that notifies the peer: the peer has
 * a receive for it. The other frames need none, because each end has a few receives more.
 *
 * Credits are a promise. An end promises few at first, with its HELLO, and more when messages come. It takes none back. A
 * HELLO without credits promises all that the address names.
 */
export class Protocol {
  peerEnded = false;
  peerLeft = false;
  /** The end of the messages was sent. */
  ended = false;
  /** The most messages that this end promises to take, what it has promised so far, and the most of the peer. */
  readonly #capacity: number;
  #level: number;
  /** Whether it is more than the peer knows. */
  #hasGrown = false;
  #peerCapacity = Infinity;
  #credits = 0;
  /** Credits of the HELLO of the peer. */
  #greeting = 0;
  /** Messages that the peer may send, and how many of them it does not know of yet. */
  #promised: number;
  #owed: number;
  /** Whether the peer knows what was promised at first. */
  #isTold: boolean;
  /** Messages that have come and were not consumed, and those of them that may stay while others come and go. */
  #waiting = 0;
  #held = 0;

  /** `first` is what is promised at first. */
  constructor(capacity: number, first: number = capacity) {
    this.#capacity = capacity;
    this.#level = first;
    this.#promised = first;
    this.#isTold = first === capacity;
    this.#owed = this.#isTold ? 0 : first;
  }

  /** The peer has receives for at most this many messages. Frames of the peer may have come before. */
  start(capacity: number): void {
    this.#peerCapacity = capacity;
    this.#credits = this.#greeting || capacity;
  }

  get hasCredit(): boolean {
    return this.#credits > 0;
  }

  /** How many messages may be sent now, how many the peer may send, and how many have come and were not consumed. */
  get numbers(): { readonly credits: number; readonly promised: number; readonly waiting: number } {
    return { credits: this.#credits, promised: this.#promised, waiting: this.#waiting };
  }

  /**
   * Whether to send a frame of credits alone: other frames carry them too, so only if there are more than before, or half of
   * them are owed. Those that are held back cannot be owed.
   */
  get owesCredits(): boolean {
    if (!this.#isTold || this.#owed === 0 || this.peerEnded) return false;
    return this.#hasGrown || 2 * this.#owed >= this.#level - this.#held;
  }

  /**
   * Takes the immediate data of a frame, which may be any number: a peer can send what it wants.
   *
   * @throws {Deno.errors.InvalidData} If the peer breaks the protocol.
   */
  receive(immData: number): FrameType {
    const type = immData >>> TYPE_SHIFT;
    const given = immData & (1 << TYPE_SHIFT) - 1;
    if (type === HELLO && given > 0 && this.#greeting === 0) this.#greeting = this.#credits = given;
    else this.#credits += given;
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
    if (this.#promised === 0) throw violation("it sends more messages than it has credits for");
    this.#promised--;
    this.#waiting++;
  }

  /** A message or a write was consumed. `unread` more of its kind have arrived, which the next calls will consume. */
  consume(unread: number): void {
    this.#waiting--;
    this.#held = this.#waiting - unread;
  }

  /**
   * How many more messages are to be promised, each of which needs a receive. `isSingle` means that there is room for
   * only one message at a time. Otherwise promises double when they become scarce.
   */
  wanted(isSingle: boolean): number {
    const given = this.#waiting + this.#promised;
    if (this.peerEnded) return 0;
    if (isSingle) return this.#promised === 0 && given < this.#capacity ? 1 : 0;
    this.#level = Math.max(this.#level, given, Math.min(FEW, this.#capacity));
    if (this.#isScarce) this.#grow();
    return this.#level - given;
  }

  /** Whether the peer has used half of what it knows, or more than half of many: it may wait for more. */
  get #isScarce(): boolean {
    const left = 2 * (this.#promised - this.#owed);
    return left < this.#level || left === this.#level && this.#level < MANY;
  }

  #grow(): void {
    const level = Math.min(2 * this.#level, this.#capacity);
    if (level > this.#level) this.#hasGrown = true;
    this.#level = level;
  }

  /** There is one more receive: the peer may send another message. */
  promise(): void {
    this.#promised++;
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
    this.#hasGrown = false;
    if (type === HELLO) this.#isTold = true;
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

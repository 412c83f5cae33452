/** What a message of a connection is. The immediate data of each message says it. */
export const FrameType = {
  /** A message of the application. */
  DATA: 1,
  /** New credits only. */
  CREDIT: 2,
  /** The first message of an end, when it is ready. */
  HELLO: 3,
  /** The end sends no more messages. */
  END: 4,
  /** The end closes the connection. It receives nothing any more. */
  BYE: 5,
} as const;
/** A value of {@linkcode FrameType}. */
export type FrameType = typeof FrameType[keyof typeof FrameType];

const TYPE_SHIFT = 28;

/** The immediate data of a message that gives the peer new credits. */
export function encodeFrame(type: FrameType, credits: number): number {
  return (type << TYPE_SHIFT | credits) >>> 0;
}

/** The type in immediate data. A peer can send any number. */
export function typeOf(immData: number): number {
  return immData >>> TYPE_SHIFT;
}

/** The number of new credits in immediate data. */
export function creditsOf(immData: number): number {
  return immData & (1 << TYPE_SHIFT) - 1;
}

/** The syndrome of an acknowledge header (AETH): how a request ended, in words. */

/** The meaning of the upper bits. */
const KIND = { ack: 0, rnrNak: 1, nak: 3 } as const;

const NAKS: readonly string[] = [
  "PSN sequence error: a packet before this one is missing",
  "invalid request",
  "remote access error: wrong rkey, address or rights",
  "remote operational error",
  "invalid RD request",
];

/** An acknowledgement without it does not count the receives that are posted. */
const NO_CREDITS = 31;

/** Waits that the codes of `minRnrTimer` stand for, in hundredths of a millisecond. */
const RNR_TIMERS: readonly number[] = [
  ...[65_536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192],
  ...[256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12_288],
  ...[16_384, 24_576, 32_768, 49_152],
];

export function syndromeText(syndrome: number): string {
  const [kind, value] = [syndrome >> 5 & 3, syndrome & 0x1f];
  switch (kind) {
    case KIND.ack:
      return value === NO_CREDITS ? "ACK, no limit of credits" : `ACK, credit code ${value}`;
    case KIND.rnrNak:
      return `RNR NAK: no receive is posted, again after ${RNR_TIMERS[value]! / 100} ms`;
    case KIND.nak:
      return `NAK, ${NAKS[value] ?? `unknown code ${value}`}`;
    default:
      return "reserved";
  }
}

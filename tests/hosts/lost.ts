// What the survivor and the process that is lost have in common. The process has no import map.
/** The number of requests that are in progress. */
export const DEPTH = 16;
/** The length of each message in bytes. */
export const LENGTH = 4096;
/** The key of the datagrams. */
export const QKEY = 0x1111_1111;
/** 0.5 s before each of 6 retries: a guest that stands still for less than that does not break the connection. */
export const PATIENT = { timeout: 17, retryCnt: 6 } as const;
/** The same for connections of the net module. */
export const CONNECT = {
  ackTimeout: PATIENT.timeout,
  retryCnt: PATIENT.retryCnt,
  connectTimeout: 60_000,
} as const;

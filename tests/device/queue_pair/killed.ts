// What the survivor and the peer that is killed have in common. The peer has no import map.
import { AccessFlags } from "../../../mod.ts";

const { LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ } = AccessFlags;
/** The access to the memory of each side. */
export const ACCESS = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ;
/** The number of requests that are under way. */
export const DEPTH = 16;
/** The length of each message in bytes. */
export const LENGTH = 4096;
/**
 * 1 s before each of 6 retries: a guest that stands still for less than that does not break the connection. rxe takes 7
 * retries for infinitely many.
 */
export const PATIENT = { timeout: 18, retryCnt: 6 } as const;

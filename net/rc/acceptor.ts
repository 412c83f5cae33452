import type { Attempt } from "./attempt.ts";
import type { RcEnd } from "./rc_end.ts";

/** Accepts peers. */
export interface Acceptor {
  readonly addr: { readonly hostname: string; readonly port: number };
  /** How many connections there are, including those in the making. */
  readonly connections: number;
  /** Waits for the next peer. After a BadResource there are none any more. */
  accept(): Promise<ConnectRequest>;
  /** Sets whether waiting for peers keeps the program alive. */
  ref(): void;
  unref(): void;
  close(): void;
}

/** A peer that wants to connect. Closing it refuses the peer; disposing it does the same unless it is connected. */
export interface ConnectRequest extends Disposable {
  readonly hostname: string;
  /** Reads and checks what the peer states about itself. Nothing of the device is used for it before. */
  read(signal: AbortSignal): Promise<void>;
  /** Makes the end that it is connected to. */
  makeEnd(): Promise<RcEnd>;
  connect(end: RcEnd, attempt: Attempt): Promise<RcEnd>;
  close(): void;
}

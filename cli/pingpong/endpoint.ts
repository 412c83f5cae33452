import type { Context, WorkCompletion } from "../../mod.ts";
import type { Address } from "./address.ts";
import type { Options } from "./options.ts";
import type { Side } from "./ping_pong.ts";

/** The verbs objects of one side. */
export interface Endpoint extends Disposable, Side {
  /** The addresses of the queue pairs. */
  readonly addresses: readonly Address[];
  /** The message in the buffer. */
  readonly message: Uint8Array;
  /** Connects the queue pairs to those of the peer. After it they can send. */
  connect(there: readonly Address[]): void;
  /** Sees the completion of the first receive before the answer is sent. The result is a line to print. */
  readonly onFirst?: (wc: WorkCompletion) => string | undefined;
}

/** Makes the verbs objects of one side. */
export type MakeEndpoint = (context: Context, options: Options) => Endpoint;

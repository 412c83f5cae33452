import { byteArray, nothingBehind, snapshot } from "../../internal/checks.ts";
import { type AbortOptions, checkSignal } from "../../wait/abort.ts";

/**
 * Options of calls that receive a message.
 *
 * @category Connections
 */
export interface ReceiveOptions extends AbortOptions {
  /**
   * The buffer that the message is written to: it is copied once, out of the memory of the device. A new buffer is made if
   * it is left out.
   */
  readonly buffer?: Uint8Array<ArrayBuffer> | undefined;
}

interface Receive {
  readonly buffer: Uint8Array<ArrayBuffer> | undefined;
  readonly signal: AbortSignal | undefined;
}

const NOTHING: Receive = { buffer: undefined, signal: undefined };

/** Reads the argument of a call that receives: a buffer alone, or options; and what is behind it, which is refused. */
export function readReceive(
  given: Uint8Array<ArrayBuffer> | ReceiveOptions | undefined,
  extra: unknown,
): Receive {
  nothingBehind(extra, "receive({ buffer, signal })");
  if (given === undefined) return NOTHING;
  if (ArrayBuffer.isView(given)) return { buffer: byteArray(given, "buffer"), signal: undefined };
  const { buffer, signal } = snapshot(given, "options", ["buffer", "signal"]);
  checkSignal(signal);
  return { buffer: buffer === undefined ? buffer : byteArray(buffer, "buffer"), signal };
}

import { instance } from "../../internal/checks.ts";

export {
  type AbortOptions as WaitOptions,
  checkSignal,
  signalOf as readSignal,
} from "../../internal/abort.ts";
export { integer, snapshot as readObject, text } from "../../internal/checks.ts";

/** Checks that a value is a Uint8Array. */
export function byteArray<T extends Uint8Array>(value: T, what: string): T {
  return instance<T>(value, Uint8Array as never, what);
}

/** Copies a message into memory of the device. The caller may have transferred its buffer since it was checked. */
export function copyMessage(memory: Uint8Array, message: Uint8Array, start: number): void {
  try {
    memory.set(message, start);
  } catch {
    throw new TypeError("Cannot send: the buffer of the message is detached");
  }
}

/** Copies a message into memory of the device. The caller may have transferred its buffer since it was checked. */
export function copyMessage(memory: Uint8Array, message: Uint8Array, start: number): void {
  try {
    memory.set(message, start);
  } catch {
    throw new TypeError("Cannot send: the buffer of the message is detached");
  }
}

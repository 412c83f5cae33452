/**
 * The marks that `--chk` looks for. The C tools write the number of each page modulo sizeof(char) into the first byte of
 * the page, which is always 0.
 */

const MARK = 0;
const PAGE = 4096;

/** Writes the marks. */
export function mark(message: Uint8Array): void {
  for (let i = 0; i < message.length; i += PAGE) message[i] = MARK;
}

/** Whether all marks are there. Prints the pages without one, as the C tools do. */
export function isMarked(message: Uint8Array): boolean {
  let all = true;
  for (let i = 0; i < message.length; i += PAGE) {
    if (message[i] === MARK) continue;
    console.log(`invalid data in page ${i / PAGE}`);
    all = false;
  }
  return all;
}

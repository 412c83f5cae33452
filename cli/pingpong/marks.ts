/**
 * The marks that `--chk` looks for. The C tools write the number of each page modulo sizeof(char) into the first byte of
 * the page, which is always 0.
 *
 * @module
 */

const MARK = 0;
const PAGE = 4096;

/** Writes the marks. */
export function mark(message: Uint8Array): void {
  for (let i = 0; i < message.length; i += PAGE) message[i] = MARK;
}

/** The numbers of the pages without a mark. */
export function unmarkedPages(message: Uint8Array): number[] {
  const pages = Array.from({ length: Math.ceil(message.length / PAGE) }, (_, page) => page);
  return pages.filter((page) => message[page * PAGE] !== MARK);
}

/** What a socket states about itself to peers that look it up, besides its number and its qkey. */

/** A mark that data of other programs does not have by chance. */
const MARK = 0x6962_7564_636f_6e31n; // "ibudcon1"
const SIZE = 12;

/** The data that a socket answers with. */
export function writeAnswer(maxMessage: number): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(SIZE));
  view.setBigUint64(0, MARK);
  view.setUint32(8, maxMessage);
  return new Uint8Array(view.buffer);
}

/**
 * The longest message that the peer accepts; `undefined` if the data is not from a socket. The system adds zeros.
 */
export function readAnswer(data: Uint8Array): number | undefined {
  if (data.length < SIZE) return undefined;
  const view = new DataView(data.buffer, data.byteOffset);
  const maxMessage = view.getUint32(8);
  return view.getBigUint64(0) === MARK && maxMessage > 0 ? maxMessage : undefined;
}

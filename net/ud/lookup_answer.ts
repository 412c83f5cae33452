/** What a connection states of itself to those who look it up, beside its number and its qkey. */

/** Not by chance in the data of a program of another kind. */
const MARK = 0x6962_7564_636f_6e31n; // "ibudcon1"
const SIZE = 12;

/** The data that a connection answers with. */
export function writeAnswer(maxMessage: number): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(SIZE));
  view.setBigUint64(0, MARK);
  view.setUint32(8, maxMessage);
  return new Uint8Array(view.buffer);
}

/** The longest message that the peer takes; `undefined` if the data is not that of a connection. The system adds zeros. */
export function readAnswer(data: Uint8Array): number | undefined {
  if (data.length < SIZE) return undefined;
  const view = new DataView(data.buffer, data.byteOffset);
  const maxMessage = view.getUint32(8);
  return view.getBigUint64(0) === MARK && maxMessage > 0 ? maxMessage : undefined;
}

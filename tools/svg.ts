/** What all pictures of the project share. */

/** A picture of this size: its title, its style sheet and its shapes. */
export function picture(
  title: string,
  width: number,
  height: number,
  style: string,
  parts: readonly string[],
): string {
  const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img">`,
    `<title>${escape(title)}</title>`,
    `<style>${style}</style>`,
    ...parts,
    "</svg>\n",
  ].join("\n");
}

/** Coordinates need no more digits. */
export function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Words as the content of an element. */
export function escape(words: string): string {
  return words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

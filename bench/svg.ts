/** What the plots share. */

/** The contenders that are drawn, each with a style of its name. */
export const CONTENDERS = ["C", "Deno", "pyverbs"] as const;

const STYLE = `
text { font: 12px system-ui, sans-serif; fill: #6b7785 }
.title { font-weight: 600; font-size: 14px }
.small { font-size: 11px }
line { stroke: #8c959f; stroke-opacity: 0.35 }
polyline { fill: none; stroke-width: 2 }
.C { fill: #8c959f; stroke: #8c959f }
.Deno { fill: #1f883d; stroke: #1f883d }
.pyverbs { fill: #bf8700; stroke: #bf8700 }
rect, circle { stroke: none !important }
@media (prefers-color-scheme: dark) { text { fill: #b1bac4 } .Deno { fill: #3fb950; stroke: #3fb950 } }`;

export function svg(
  title: string,
  width: number,
  height: number,
  parts: readonly string[],
): string {
  const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img">`,
    `<title>${escape(title)}</title>`,
    `<style>${STYLE}</style>`,
    ...parts,
    "</svg>\n",
  ].join("\n");
}

/** Coordinates need no more digits. */
export function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Words as the content of an element. */
function escape(words: string): string {
  return words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

export function text(words: string, x: number, y: number, kind = "", anchor = "start"): string {
  const name = kind === "" ? "" : ` class="${kind}"`;
  const place = `x="${round(x)}" y="${round(y)}" text-anchor="${anchor}"`;
  return `<text${name} ${place}>${escape(words)}</text>`;
}

/** Which colour is whose. */
export function legend(x: number, y: number): string[] {
  return CONTENDERS.flatMap((who, i) => {
    const left = x + i * 90;
    return [
      `<rect class="${who}" x="${left}" y="${y - 10}" width="12" height="12" rx="2"/>`,
      text(who, left + 18, y),
    ];
  });
}

/** Source maps of the bundles: stack traces lead to the sources by them. */

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Literals and nothing else: no stack trace leads there. */
const LITERALS = "/ffi/layout.ts";

/**
 * Leaves in a map only the first place of each line of the sources, and no names: Deno reads it each time a program starts, and
 * whole maps are larger than the bundles. Returns undefined for a map without places.
 */
export function shrinkMap(text: string): string | undefined {
  const map = JSON.parse(text);
  if (map.sources.length === 0) return undefined;
  const literals = map.sources.findIndex((source: string) => source.endsWith(LITERALS));
  return JSON.stringify({ ...map, mappings: firstPlaces(map.mappings, literals), names: [] });
}

/** Mappings with a segment where the line or the file of the source changes, and nowhere else; without those of one file. */
export function firstPlaces(mappings: string, without = -1): string {
  let [source, line, column] = [0, 0, 0];
  // The last place that was kept: numbers are written as differences to it.
  let kept = [0, 0, 0];
  return mappings.split(";").map((generatedLine) => {
    let [at, keptAt, isFirst] = [0, 0, true];
    const segments: string[] = [];
    for (const segment of generatedLine.split(",")) {
      const [toAt = 0, toSource = 0, toLine = 0, toColumn = 0] = decode(segment);
      at += toAt;
      source += toSource;
      line += toLine;
      column += toColumn;
      if (source === without || !isFirst && source === kept[0] && line === kept[1]) continue;
      const place = [source, line, column];
      segments.push(encode([at - keptAt, ...place.map((value, i) => value - kept[i]!)]));
      kept = place;
      [keptAt, isFirst] = [at, false];
    }
    return generatedLine === "" ? "" : segments.join(",");
  }).join(";");
}

/** The numbers of a segment: in digits of 5 bits, the lowest one first, whose sixth bit says that another one follows. */
function decode(segment: string): number[] {
  const numbers: number[] = [];
  let [value, shift] = [0, 0];
  for (const character of segment) {
    const digit = DIGITS.indexOf(character);
    value += (digit & 31) << shift;
    shift += 5;
    if (digit & 32) continue;
    numbers.push(value & 1 ? -(value >> 1) : value >> 1);
    [value, shift] = [0, 0];
  }
  return numbers;
}

function encode(numbers: readonly number[]): string {
  return numbers.map((number) => {
    let text = "";
    let value = number < 0 ? -number << 1 | 1 : number << 1;
    do {
      const digit = value & 31;
      value >>>= 5;
      text += DIGITS[value > 0 ? digit | 32 : digit];
    } while (value > 0);
    return text;
  }).join("");
}

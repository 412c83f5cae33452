/** What a mistyped word was meant to be. */

/** Shorter parts of words match by chance, except at the beginning. */
const LEAST = 3;

/** The end of a message: the word that was probably meant; empty if none is close. */
export function didYouMean(word: string, words: readonly string[]): string {
  const found = closest(word, words);
  return found.length === 0 ? "" : `; did you mean ${found.join(" or ")}?`;
}

/** The closest words: those with the fewest slips of the keyboard, if these are few. */
function closest(word: string, words: readonly string[]): string[] {
  const [given, ...spelled] = [word, ...words].map(bare);
  const slips = spelled.map((other) => contains(given!, other) ? 0 : slipsBetween(given!, other));
  const fewest = Math.min(...slips);
  if (fewest > mostSlips(given!)) return [];
  return words.filter((_, i) => slips[i] === fewest);
}

/** Without what does not matter: dashes, underscores, and the size of letters. */
function bare(word: string): string {
  return word.replace(/^-+/, "").replaceAll("_", "-").toLowerCase();
}

/** A longer word has room for more slips. */
function mostSlips({ length }: string): number {
  return length < LEAST ? 0 : Math.floor((length + 1) / 3);
}

/** Whether one is a part of the other: `doc` of `doctor`, `devinfo` of `ibv_devinfo`. */
function contains(given: string, other: string): boolean {
  if (given.length < LEAST) return given.length > 1 && other.startsWith(given);
  return other.includes(given) || other.length > LEAST && given.includes(other);
}

/** Letters to add, to leave out, to replace or to exchange with the next one. */
function slipsBetween(a: string, b: string): number {
  let [older, last]: number[][] = [[], Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const isTurned = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(Math.min(
        ...[last![j]! + 1, row[j - 1]! + 1, last![j - 1]! + Number(!isSame)],
        ...isTurned && !isSame ? [older![j - 2]! + 1] : [],
      ));
    }
    [older, last] = [last, row];
  }
  return last!.at(-1)!;
}

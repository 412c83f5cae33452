/** Why verbs fail, as tables: docs/errors.md is written from them, and messages take their hints from them. */

/** What the words in braces of a sentence stand for. */
export type Words = Readonly<Record<string, unknown>>;

/**
 * A cause: the errors by which it shows (names of errno values or of statuses, or "any"), the sentence, and when it is
 * the cause. What `when` returns fills in the words in braces; `true` takes them from what is given.
 */
export type Cause<Given> = readonly [
  codes: string,
  sentence: string,
  when?: (given: Given) => Words | boolean | undefined,
];

/** The causes of a verb, the most certain first. The first that applies is reported. */
export type Causes<Given = unknown> = readonly Cause<Given>[];

/** The likely cause of a failure, in a sentence. */
export function causeOf<Given>(
  causes: Causes<Given>,
  code: string,
  given: Given,
): string | undefined {
  for (const [codes, sentence, when] of causes) {
    if (codes !== "any" && !codes.split(", ").includes(code)) continue;
    const found = when === undefined || when(given);
    if (!found) continue;
    const words = (found === true ? given : found) as Words;
    return sentence.replaceAll(/\{(\w+)\}/g, (_, name: string) => `${words[name]}`);
  }
  return undefined;
}

/** A limit: the name of an attribute, its value, and the most that the device reports. */
export type Limit = readonly [name: string, value: number | undefined, most: number];

/** The first attribute that is above its limit. */
export function aboveLimit(limits: readonly Limit[]): Words | undefined {
  const [found] = limits.filter(([, value = 0, most]) => value > most);
  return found && { attribute: found[0], value: found[1], most: found[2] };
}

/** The hint for an attribute that `aboveLimit` finds. */
export const ABOVE_LIMIT = "{attribute} {value} is too large: the device allows up to {most}";

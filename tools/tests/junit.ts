/** Counting what a test run did, from the report that `deno test --junit-path` writes. */

export interface Counts {
  passed: number;
  failed: number;
  ignored: number;
}

/** Of a run that did nothing. */
export const NONE: Counts = { passed: 0, failed: 0, ignored: 0 };

/** Counts the test cases of a report; steps within tests are cases too. */
export function countCases(xml: string): Counts {
  const counts = { ...NONE };
  for (const { result } of casesOf(xml)) counts[result]++;
  return counts;
}

/** The names of the test cases that failed. */
export function failedCases(xml: string): string[] {
  return casesOf(xml).filter(({ result }) => result === "failed").map(({ name }) => name);
}

interface Case {
  readonly name: string;
  readonly result: keyof Counts;
}

function casesOf(xml: string): Case[] {
  const cases = xml.matchAll(/<testcase\b([^>]*?)(?:\/>|>(.*?)<\/testcase>)/gs);
  return [...cases].map(([, attributes = "", body = ""]) => ({
    name: unescaped(/\bname="([^"]*)"/.exec(attributes)?.[1] ?? ""),
    result: /<(failure|error)\b/.test(body)
      ? "failed"
      : /<skipped\b/.test(body)
      ? "ignored"
      : "passed",
  }));
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  apos: "'",
  gt: ">",
  lt: "<",
  quot: '"',
};

function unescaped(text: string): string {
  return text.replace(/&(\w+);/g, (entity, name) => ENTITIES[name] ?? entity);
}

export function add(a: Counts, b: Counts): Counts {
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    ignored: a.ignored + b.ignored,
  };
}

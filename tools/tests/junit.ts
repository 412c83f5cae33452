/** Counting what a test run did, from the report that `deno test --junit-path` writes. */

/** Numbers of tests by how they ended. */
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
  for (
    const [, attributes, body] of xml.matchAll(/<testcase\b([^>]*?)(?:\/>|>(.*?)<\/testcase>)/gs)
  ) {
    if (attributes === undefined) continue;
    if (/<(failure|error)\b/.test(body ?? "")) counts.failed++;
    else if (/<skipped\b/.test(body ?? "")) counts.ignored++;
    else counts.passed++;
  }
  return counts;
}

/** The sum of two counts. */
export function add(a: Counts, b: Counts): Counts {
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    ignored: a.ignored + b.ignored,
  };
}

/** Mutants: small changes of the source, each of which is a defect that some test must notice. */

/** The mutants of one source file. */
export interface MutantsOf {
  /** The source file, from the project's folder. */
  readonly file: string;
  /** The test files that must notice, below tests/ and without `_test.ts`, such as `pure/core/resource`. */
  readonly tests: readonly string[];
  /** The changes. */
  readonly mutants: readonly Change[];
}

/** One change. */
export interface Change {
  /** Its name, unique among all. */
  readonly id: string;
  /** What the source has. It must be there exactly once. */
  readonly replace: string;
  /** What takes its place. */
  readonly by: string;
  /** Why the changed source is wrong. */
  readonly wrong: string;
  /** Other test files than those of the source file. */
  readonly tests?: readonly string[];
  /** The value of IBVERBS_THUNKS. The default is "on". */
  readonly thunks?: "on" | "off";
  /** Why no test can notice. A mutant with a reason may survive. */
  readonly reason?: string;
}

/** A change with the file that it changes. */
export interface Mutant extends Change {
  /** The source file, from the project's folder. */
  readonly file: string;
  /** The paths of the test files, from the project's folder. */
  readonly tests: readonly string[];
  /** The value of IBVERBS_THUNKS. */
  readonly thunks: "on" | "off";
}

/** All mutants of several files. */
export function flatten(lists: readonly MutantsOf[]): Mutant[] {
  return lists.flatMap(({ file, tests, mutants }) =>
    mutants.map((change) => ({
      thunks: "on" as const,
      ...change,
      file,
      tests: (change.tests ?? tests).map((name) => `tests/${name}_test.ts`),
    }))
  );
}

/** Whether a mutant needs an RDMA device. */
export function needsDevice({ tests }: Mutant): boolean {
  return tests.some((test) => test.startsWith("tests/device/"));
}

/**
 * What is wrong with the list itself: names that are not unique, missing files, and texts that are not there exactly
 * once. One sentence each.
 */
export function faultsOf(
  mutants: readonly Mutant[],
  read: (path: string) => string | undefined,
): string[] {
  const faults: string[] = [];
  const seen = new Set<string>();
  for (const { id, file, replace, by, tests } of mutants) {
    if (seen.has(id)) faults.push(`${id}: another mutant has this name`);
    seen.add(id);
    for (const test of tests) {
      if (read(test) === undefined) faults.push(`${id}: there is no file ${test}`);
    }
    const source = read(file);
    if (source === undefined) {
      faults.push(`${id}: there is no file ${file}`);
      continue;
    }
    const count = source.split(replace).length - 1;
    if (count !== 1) faults.push(`${id}: ${file} has its text ${count} times, not once`);
    if (replace === by) faults.push(`${id}: it changes nothing`);
  }
  return faults;
}

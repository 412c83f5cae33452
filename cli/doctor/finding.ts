/** What a check finds. */

import { type HostFacts, works } from "./facts.ts";

/** Whether nothing can be sent, or something may fail. */
export type Level = "broken" | "warning";

export interface Finding {
  /** The name of the check, such as `link-down`. */
  readonly id: string;
  readonly level: Level;
  /** What has the fault: `kernel`, `libibverbs`, `limits`, a device such as `rxe0`, or a port such as `rxe0 port 1`. */
  readonly subject: string;
  readonly problem: string;
  readonly remedy: string;
}

/** A finding as a check returns it: the name of the check is added. If `level` is left out, it is an error, unless another port works. */
export type Fault = Omit<Finding, "id" | "level"> & Partial<Pick<Finding, "level">>;

/** A check finds faults in what was gathered. */
export type Check<T = HostFacts> = (facts: T) => readonly Fault[];

/** Errors first. Otherwise findings stay in the order of the checks, in which causes come first. */
export function brokenFirst(findings: readonly Finding[]): Finding[] {
  const isBroken = ({ level }: Finding): boolean => level === "broken";
  return [...findings.filter(isBroken), ...findings.filter((finding) => !isBroken(finding))];
}

/** The findings of the checks, errors first. */
export function findingsOf<T extends HostFacts>(
  checks: Readonly<Record<string, Check<T>>>,
  facts: T,
): Finding[] {
  const ports = facts.devices.flatMap(({ ports }) => ports);
  const level = ports.some(works) ? "warning" : "broken";
  const findings = Object.entries(checks).flatMap(([id, check]) =>
    check(facts).map((fault): Finding => ({ id, level, ...fault }))
  );
  return brokenFirst(findings);
}

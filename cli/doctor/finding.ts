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

/** A finding of a check, which need not name itself. Without a level nothing can be sent, unless another port works. */
export type Fault = Omit<Finding, "id" | "level"> & Partial<Pick<Finding, "level">>;

/** A check finds faults in what was gathered. */
export type Check<T = HostFacts> = (facts: T) => readonly Fault[];

/** What is broken first. Otherwise the order stays: that of the checks, in which causes come first. */
export function brokenFirst(findings: readonly Finding[]): Finding[] {
  const isBroken = ({ level }: Finding): boolean => level === "broken";
  return [...findings.filter(isBroken), ...findings.filter((finding) => !isBroken(finding))];
}

/** What the checks find, what is broken first. */
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

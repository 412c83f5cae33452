/** What the guest's kernel has to say about a test run. */

// A kernel that found a fault in itself says one of these; modules report what they leaked in their
// own words.
const COMPLAINTS = [
  /\b(WARNING|BUG|Oops|KASAN|UBSAN|Call Trace|general protection|refcount_t)\b/,
  /\b(rcu_\w+ self-detected|hung task|blocked for more than|soft lockup)\b/,
  /\bleak/i,
];

const BEGIN = "guest: the command starts";

/** The lines of a kernel log that must not be there, leaving out what came before the command. */
export function complaints(log: string): string[] {
  const relevant = log.slice(Math.max(log.lastIndexOf(BEGIN), 0));
  return relevant.split("\n").filter((line) => COMPLAINTS.some((words) => words.test(line)));
}

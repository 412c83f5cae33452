/** What the guest's kernel has to say about a test run. */

// A kernel that found a fault in itself says one of these; modules report what they leaked in their
// own words.
const COMPLAINTS = [
  /\b(WARNING|BUG|Oops|KASAN|UBSAN|Call Trace|general protection|refcount_t)\b/,
  /\b(rcu_\w+ self-detected|hung task|blocked for more than|soft lockup)\b/,
  /\bleak/i,
];

/**
 * rxe of Linux 6.1 warns when an object still has references some time after it was destroyed, and goes on: first 0.8 s,
 * 50 s in 6.1.176. A packet that waits for the link address of an unreachable peer holds its queue pair for longer than the
 * first, and so does any packet in a slow guest.
 */
const KNOWN = /^.*WARNING: .*rxe_pool\.c.*__rxe_cleanup[^]*?---\[ end trace.*$/gm;

const BEGIN = "guest: the command starts";

/** The lines of a kernel log that must not be there, leaving out what came before the command. */
export function complaints(log: string): string[] {
  const relevant = log.slice(Math.max(log.lastIndexOf(BEGIN), 0)).replaceAll(KNOWN, "");
  return relevant.split("\n").filter((line) => COMPLAINTS.some((words) => words.test(line)));
}

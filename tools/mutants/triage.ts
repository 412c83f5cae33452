/** Survivors that somebody has looked at, with the reason why no test notices them. */

import type { Mutant } from "./generate.ts";

/** A mutant that may survive. */
export interface Row extends Pick<Mutant, "file" | "original" | "replacement"> {
  /** Why it changes nothing that anybody can see, or why a test of it is not worth its price. */
  readonly reason: string;
}

/** The table, by file. It names texts and not lines, so that it stays right when other code changes. */
export const TRIAGE: readonly Row[] = [
  {
    file: "ffi/fd_watcher.ts",
    original: "this.#waits.size > 0",
    replacement: "this.#waits.size >= 0",
    reason: "It lets the event loop run once more when nobody waits.",
  },
  {
    file: "ffi/library/discovery.ts",
    original: "`/usr/lib/${Deno.build.arch}-linux-gnu`",
    replacement: "``",
    reason: "Debian's /lib is a link to /usr/lib: the next folder has the same library.",
  },
  {
    file: "ffi/thunks/x86_64.ts",
    original: "parameters > REGISTERS",
    replacement: "true",
    reason: "It passes on a seventh argument that a function with fewer does not read.",
  },
  {
    file: "ffi/native_memory.ts",
    original: "bufferAddress(bytes) % PAGE !== 0n",
    replacement: "false",
    reason: "The attempt that follows tells the same of any buffer, and takes 0.1 s.",
  },
  {
    file: "net/rc/link.ts",
    original: "{\n      return Promise.reject(error);\n    }",
    replacement: "{}",
    reason: "The wait that follows rejects with the same error, one turn later.",
  },
  {
    file: "net/rc/remote_memory.ts",
    original: "this.#closed();",
    replacement: ";",
    reason: "The connection closes a closed region again at its end, which does nothing.",
  },
  {
    file: "cli/perf.ts",
    original: "{ ready: true }",
    replacement: "{}",
    reason: "The client waits for any message here, and reads nothing of it.",
  },
  {
    file: "cli/pingpong/ping_pong.ts",
    original: "batch.status(i) !== SUCCESS",
    replacement: "true",
    reason: "check() of a completion without an error does nothing, and allocates an object.",
  },
  {
    file: "net/ud/peers.ts",
    original: "i < words.length",
    replacement: "i <= words.length",
    reason: "Behind the last word it mixes in a zero, and the hash is as good.",
  },
  {
    file: "cli/perf.ts",
    original: "{ ready: true }",
    replacement: "{}",
    reason: "The peer waits for the line and reads nothing in it.",
  },
  {
    file: "cli/pingpong/ping_pong.ts",
    original: "batch.status(i) !== SUCCESS",
    replacement: "true",
    reason: "check() of a completion that succeeded does nothing: the test saves its object.",
  },
  {
    file: "types/work/native_list.ts",
    original: "this.#only === undefined",
    replacement: "true",
    reason: "Noting each send of a run with one handle comes to the same, and takes longer.",
  },
  {
    file: "net/rc/link.ts",
    original: "isNext && !this.#mayPost(sending)",
    replacement: "false",
    reason: "The send waits for the next turn, in which completions are read.",
  },
  {
    file: "net/ud/peers.ts",
    original: "Gid.parse(gid);",
    replacement: ";",
    reason:
      "Making the handle refuses the text, too. What stays is memory for at most maxPeers texts.",
  },
  {
    file: "net/rc/remote_memory.ts",
    original: "this.#closed();",
    replacement: ";",
    reason: "The connection closes the closed region once more, which does nothing.",
  },
  {
    file: "internal/command_line.ts",
    original: 'option === "flag"',
    replacement: "false",
    reason: "The text has no short form either.",
  },
  {
    file: "types/completion/cq_core.ts",
    original: "count < 0",
    replacement: "count <= 0",
    reason: "A poll that finds nothing is no error.",
  },
  {
    file: "types/queue_pair/wr_poster.ts",
    original: '"ibv_wr_"',
    replacement: '""',
    reason: "More verbs are bound, which no builder calls.",
  },
  {
    file: "types/reply/grh_memory.ts",
    original: "-1",
    replacement: "+1",
    reason: "Only a call without memory tells, right after the first object was disposed.",
  },
  {
    file: "rxe/guest/kernel.ts",
    original: "image.length < SECTOR * 2",
    replacement: "image.length <= SECTOR * 2",
    reason: "An image of two sectors has no room for a kernel.",
  },
  {
    file: "rxe/guest/machine.ts",
    original: "[this.#lines.return(), this.#console.ended, this.#broken]",
    replacement: "[]",
    reason: "A stream stays open. Deno's own check notices it, which mutants are tried without.",
  },
  {
    file: "rxe/host/deno_command.ts",
    original: '""',
    replacement: '"Stryker was here!"',
    reason: "Without the variable PATH, no folder has that name.",
  },
  {
    file: "types/completion/completion_queue.ts",
    original: "!(batch instanceof WorkCompletions)",
    replacement: "true",
    reason: "The general test, which comes next, tells the same and takes 50 ns.",
  },
  {
    file: "types/completion/cq_core.ts",
    original: "this.senders.size > 0",
    replacement: "this.senders.size >= 0",
    reason: "It looks for the senders of completions where there are none, which only takes time.",
  },
  {
    file: "internal/turns.ts",
    original: "performance.now() - this.#start >= SLICE_MS",
    replacement: "performance.now() - this.#start > SLICE_MS",
    reason: "The clock is hardly ever at the limit to the last digit.",
  },
  {
    file: "types/address_handle/address_handle.ts",
    original: "others.size < this.#limit",
    replacement: "false",
    reason: "It looks for sends that are done each time, which only takes time.",
  },
  {
    file: "types/reply/reply_address.ts",
    original: "false",
    replacement: "true",
    reason: "It is the value before the first address is computed, which sets it.",
  },
  {
    file: "types/work/posting.ts",
    original: "list === undefined || list.capacity < filled",
    replacement: "true",
    reason: "It makes a list each time, which only takes time.",
  },
  {
    file: "types/work/native_list.ts",
    original: "new Array(capacity * maxSge)",
    replacement: "new Array()",
    reason: "The array grows when elements are written, which only takes time.",
  },
  {
    file: "types/work/native_list.ts",
    original: "slot < end",
    replacement: "false",
    reason: "It keeps regions in memory that no request uses. Checks look at used ones only.",
  },
  {
    file: "types/work/native_list.ts",
    original: '"bigint"',
    replacement: '""',
    reason: "BigInt() of a bigint is that bigint. The condition saves a call.",
  },
  {
    file: "types/work/native_list.ts",
    original: "(index + 1) * this.maxSge",
    replacement: "(index + 1) / this.maxSge",
    reason: "It keeps regions in memory that no request uses. Checks look at used ones only.",
  },
  {
    file: "types/work/attributes.ts",
    original: "{ bits: 53 }",
    replacement: "{}",
    reason: "readBinding() has checked the length, and no such struct is read.",
  },
  {
    file: "types/completion/cq_core_ex.ts",
    original: "extra + EXTRA.completionTs",
    replacement: "extra - EXTRA.completionTs",
    reason: "The timestamp is the first of the extra values: its offset is 0.",
  },
  {
    file: "types/completion/cq_core_ex.ts",
    original: "format.extra / 4",
    replacement: "format.extra * 4",
    reason:
      "It also clears the extra values of later completions, which are cleared and read after it.",
  },
  ...["remoteQpn", "remoteQkey", "remoteAddr", "rkey"].map((name) => ({
    file: "types/work/requests.ts",
    original: `"${name}"`,
    replacement: '""',
    reason: "The set of known names has it too. Comparing it first only saves time.",
  })),
];

function key({ file, original, replacement }: Omit<Row, "reason">): string {
  return JSON.stringify([file, original, replacement]);
}

/** The reason why a mutant may survive, for each that has one. */
export function reasons(rows: readonly Row[]): (mutant: Mutant) => string | undefined {
  const byKey = new Map(rows.map((row) => [key(row), row.reason]));
  return (mutant) => byKey.get(key(mutant));
}

/** The rows that fit no mutant any more. */
export function stale(rows: readonly Row[], mutants: readonly Mutant[]): Row[] {
  const keys = new Set(mutants.map(key));
  return rows.filter((row) => !keys.has(key(row)));
}

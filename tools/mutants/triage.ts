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
  {
    file: "ffi/library/discovery.ts",
    original: "error instanceof Deno.errors.NotCapable",
    replacement: "false",
    reason: "The error that follows tells the same of the missing permission, in a list.",
  },
  {
    file: "ffi/library/fast.ts",
    original: 'row.fails === "errno"',
    replacement: "true",
    reason: "More calls go through a thunk, which gives what the call itself gives.",
  },
  {
    file: "ffi/library/slow.ts",
    original: '"symbol"',
    replacement: '""',
    reason: "No call that runs on another thread has a symbol of another name.",
  },
  {
    file: "ffi/thunks/memfd.ts",
    original: "fd < 0",
    replacement: "fd >= 0",
    reason: "Linux 6.3 knows MFD_EXEC; on the guest's Linux 6.1 every device test fails.",
  },
  {
    file: "cli/watch/port_monitor.ts",
    original: '""',
    replacement: '"Stryker was here!"',
    reason: "It is not a number either.",
  },
  {
    file: "cli/explain/packet.ts",
    original: "bytes.length < at + VLAN_SIZE",
    replacement: "bytes.length <= at + VLAN_SIZE",
    reason: "A frame that ends after its tag has no header that could be read.",
  },
  {
    file: "cli/explain/hex_input.ts",
    original: "/^\\s*(0x)?[0-9a-f]{4,8}:\\s+/i",
    replacement: "/^\\s*(0x)?[0-9a-f]{4,8}:\\s/i",
    reason: "The blanks that it leaves separate bytes.",
  },
  {
    file: "cli/peer/address.ts",
    original: "/^([0-9a-f]{4}):([0-9a-f]{6}):([0-9a-f]{6}):([0-9a-f]{32})\\0$/i",
    replacement: "/^([0-9a-f]{4}):([0-9a-f]{6}):([0-9a-f]{6}):([0-9a-f]{32})\\0/i",
    reason: "Exactly as many bytes are read.",
  },
  {
    file: "types/work/attributes.ts",
    original: 'region === undefined || typeof addr !== "bigint"',
    replacement: "true",
    reason: "An address in a region is within the range; checking it again takes time.",
  },
  {
    file: "types/work/native_list.ts",
    original: "at + SGE_ADDR",
    replacement: "at - SGE_ADDR",
    reason: "addr is the first field of an element.",
  },
  {
    file: "types/reply/reply_path.ts",
    original: "!(attr instanceof DataView)",
    replacement: "true",
    reason: "instance() looks again, which takes time.",
  },
  {
    file: "types/address_handle/address_handle.ts",
    original:
      "{\n        // Only address handles have the field. Each request that is prepared asks: instanceof takes longer.\n        return undefined;\n      }",
    replacement: "{}",
    reason: "A function without return gives undefined, too.",
  },
  {
    file: "types/work/requests.ts",
    original: "binding !== undefined",
    replacement: "true",
    reason: "Who gives a window gives a binding: the check before sees to it.",
  },
  {
    file: "types/work/requests.ts",
    original: '"ah"',
    replacement: '""',
    reason: "The set of all names that follows has it.",
  },
  {
    file: "types/work/posting.ts",
    original: "list.isChecked(start, count, rules)",
    replacement: "false",
    reason: "It checks again what has not changed, which takes time.",
  },
  {
    file: "types/memory/parent_domain.ts",
    original: "true",
    replacement: "false",
    reason: "The constructor has asked for the domain before.",
  },
  {
    file: "net/rc/listen_rc.ts",
    original: "() => this.#attempts.delete(ended)",
    replacement: "() => undefined",
    reason: "close() waits for an attempt that has ended already.",
  },
  {
    file: "net/rc/link.ts",
    original: "this.#receiving.size > 0",
    replacement: "this.#receiving.size >= 0",
    reason: "The pump looks more often than it must.",
  },
  {
    file: "net/ud/routes.ts",
    original: "portNum === this.#settings.port && type !== EventType.PKEY_CHANGE",
    replacement: "true",
    reason: "After other events the addresses are read once more.",
  },
  {
    file: "net/ud/peers.ts",
    original: "this.#senders.delete(key);",
    replacement: ";",
    reason: "The sender keeps its place among those that are forgotten first.",
  },
  {
    file: "net/rc/link.ts",
    original: "completed === posted",
    replacement: "true",
    reason: "A write more asks a peer that still has to answer the last one.",
  },
  {
    file: "net/rc/attempts.ts",
    original: "leaving !== undefined",
    replacement: "true",
    reason: "There is no partner with the key undefined.",
  },
  {
    file: "internal/command_line.ts",
    original: "token.index >= end",
    replacement: "token.index > end",
    reason: "The token at that place is --, which is neither option nor operand.",
  },
  {
    file: "types/queue_pair/queue_pair_ex.ts",
    original: "handle === null",
    replacement: "false",
    reason: "No provider here makes a queue pair with send operations and without its builder.",
  },
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

/** System calls of processes, counted by strace: how many calls a message takes, and how many threads it wakes. */

/** Runs work while strace writes down the calls of processes; what it wrote of each. */
export async function traced(
  pids: readonly number[],
  work: () => Promise<unknown>,
): Promise<string[]> {
  const traces = await Promise.all(pids.map(async (pid) => {
    const log = await Deno.makeTempFile();
    const args = ["-f", "-y", "-qq", "-o", log, "-p", `${pid}`];
    const child = new Deno.Command("strace", { args }).spawn();
    while (Deno.readTextFileSync(`/proc/${pid}/status`).includes("TracerPid:\t0\n")) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return { child, log };
  }));
  await work();
  return await Promise.all(traces.map(async ({ child, log }) => {
    child.kill("SIGINT");
    await child.status;
    return await Deno.readTextFile(log);
  }));
}

/** Lines of calls that have ended. A call that waits has two lines, and the second one ends it. */
const CALLS: readonly (readonly [title: string, line: RegExp])[] = [
  // FUTEX_WAIT gives 0 or less.
  ["threads woken by futex", /futex.* = [1-9]/],
  ["writes to an eventfd", /write\(\d+<anon_inode:\[eventfd\]>.* = 8/],
  ["futex, all", /futex.* = /],
  ["poll, epoll_wait", /poll.* = /],
  ["read, write, ioctl", /(read|write|ioctl)\b.* = /],
  ["all calls", / = -?\d/],
];

/** Calls of each process for one message. */
export function callsTable(who: string, logs: readonly string[], messages: number): string {
  const lines = CALLS.map(([title, pattern]) => {
    const counts = logs.map((log) => log.split("\n").filter((line) => pattern.test(line)).length);
    return [title, ...counts.map((count) => (count / messages).toFixed(2))];
  });
  return [[who, "server", "client"], ...lines].map(([title, ...cells]) =>
    title!.padEnd(28) + cells.map((cell) => cell.padStart(10)).join("")
  ).join("\n");
}

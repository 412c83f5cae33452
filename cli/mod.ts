/**
 * The command-line tool of `@rdma/ibverbs`. It shows the RDMA devices of a host, and tests them.
 *
 * ```sh
 * deno run --allow-ffi jsr:@rdma/cli gids
 * ```
 *
 * It prints the GIDs of each port, marks the one to send from, and says why. For instance:
 *
 * ```text
 *    DEV   PORT  INDEX  GID                                      IPv4      VER  NETDEV
 *    rxe0  1     0      fe80:0000:0000:0000:5054:00ff:fe12:3456            v2   #2
 * *  rxe0  1     1      0000:0000:0000:0000:0000:ffff:0a00:0001  10.0.0.1  v2   #2
 *    rxe0  1     2      fd00:0000:0000:0000:0000:0000:0000:0001            v2   #2
 *
 * * rxe0 port 1: index 1. RoCE v2 with an IPv4 address: it reaches other subnets, and most peers have one
 * ```
 *
 * | command    | does                                                             |
 * | ---------- | ---------------------------------------------------------------- |
 * | `devices`  | lists the devices                                                |
 * | `devinfo`  | shows devices and their ports                                    |
 * | `gids`     | shows the GIDs of ports, and which one to send from              |
 * | `explain`  | explains a GRH, a completion, a packet, a capture; no device     |
 * | `doctor`   | examines this host: what is wrong, and what to do                |
 * | `watch`    | shows events and counters of ports                               |
 * | `pingpong` | exchanges messages with the ping-pong tools of rdma-core         |
 * | `rping`    | lets a peer read and write memory by RDMA, by address            |
 * | `udaddy`   | exchanges datagrams with a peer, by address                      |
 * | `perf`     | measures latency and bandwidth between two hosts                 |
 *
 * `--help` lists the commands. Each command has `--help` and `--json`. `pingpong` and `perf` also need `--allow-net`. The
 * exit status is that of the C tool of the same purpose: 0 if all went well.
 *
 * Programs can run a command too:
 *
 * ```ts
 * import { runCli } from "@rdma/cli";
 *
 * Deno.exitCode = await runCli(["gids", "--json"]);
 * ```
 *
 * **Where to go next.**
 *
 * - A host without a device: `@rdma/rxe` runs the tool in a virtual machine that has one.
 * - The same data in a program: `listDevices()` and `Context` of `@rdma/ibverbs`.
 *
 * @module
 */

const MAX_WORDS = 1_048_576;
const IS_DENO = "Deno" in globalThis;
const NEEDS_DENO = "@rdma/cli runs on Deno only: https://deno.com. Run it by " +
  '"deno run -A jsr:@rdma/cli"';

/**
 * Runs a command line. What it prints goes to standard output and standard error, errors too.
 *
 * Other runtimes than Deno can import it; there it prints that it needs Deno.
 *
 * @returns the exit status.
 * @throws {TypeError} If `args` is not an array of strings.
 * @throws {RangeError} If there are more than 1048576.
 * @category Commands
 */
export async function runCli(args: readonly string[]): Promise<number> {
  const words = wordsOf(args);
  if (!IS_DENO) {
    console.error(NEEDS_DENO);
    return 1;
  }
  // Other runtimes cannot load all modules that this one imports.
  const { runHere } = await import("./run.ts");
  return await runHere(words);
}

function wordsOf(args: readonly string[]): string[] {
  if (!Array.isArray(args)) throw new TypeError("Cannot use args: it is not an array");
  const { length } = args;
  if (length > MAX_WORDS) {
    throw new RangeError(
      `Cannot use args: it has ${length} elements, and at most ${MAX_WORDS} are possible`,
    );
  }
  // A subclass of Array can override methods and iterators.
  return Array.from({ length }, (_, i) => {
    const word: unknown = args[i];
    if (typeof word === "string") return word;
    throw new TypeError(`Cannot use args[${i}]: it is not a string`);
  });
}

/** Node before 24 does not say to a module whether it is the program. */
function isProgram({ main, filename }: ImportMeta): boolean {
  return main ?? globalThis.process.argv[1] === filename;
}

if (isProgram(import.meta)) {
  const status = await runCli(IS_DENO ? Deno.args : []);
  if (IS_DENO) Deno.exit(status);
  globalThis.process.exitCode = status;
}

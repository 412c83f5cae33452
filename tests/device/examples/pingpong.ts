// Plays ping-pong between the examples and the C tools.
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { cli } from "../cli/cli.ts";
import { openRxe, PORT } from "../setup.ts";
import {
  type Ending,
  freshPort,
  type Program,
  start,
  startExample,
  untilListening,
} from "../programs.ts";

/** Starts with the first message, not with the compilation of the code. */
export const COLD = "--warm-up=0";

/** A GID of the soft-RoCE device as text. */
export function gid(index: number): string {
  using context = openRxe();
  return context.queryGid(PORT, index).toString();
}

/** A side that plays. Leaving its scope waits for its end, or ends it. */
type Playing = Pick<Program, "ending" | typeof Symbol.asyncDispose>;

/** Starts a program with arguments. */
export type Peer = (args: readonly string[]) => Playing;

/** The C tool of that name. */
export function tool(name: string): Peer {
  return (args) => start(`ibv_${name}`, ...args);
}

/**
 * What the example of that name does, in the process of the test: an emulated processor takes seconds to start a program.
 */
export function inProcess(name: string, ...own: readonly string[]): Peer {
  const kind = name.replace("_pingpong", "");
  return (args) => {
    const ending = cli("pingpong", kind, ...own, ...args);
    return { ending, [Symbol.asyncDispose]: async () => void await ending };
  };
}

/** The example of that name as a program, with arguments of its own. */
export function example(name: string, ...own: readonly string[]): Peer {
  return (args) => startExample(name, [...own, ...args]);
}

/** Runs a server and a client with the same arguments. */
export async function play(
  server: Peer,
  client: Peer,
  args: readonly string[],
): Promise<[Ending, Ending]> {
  const port = freshPort();
  const all = ["-p", `${port}`, ...args];
  await using serving = server(all);
  await untilListening(port);
  await using calling = client([...all, "127.0.0.1"]);
  return await Promise.all([serving.ending, calling.ending]);
}

/** What was played. */
export interface Played {
  readonly index: number;
  readonly iters: number;
  readonly size: number;
  /** What is before the GID of the own address. */
  readonly separator: ":" | ",";
}

/** Asserts what both programs print after a ping-pong, whichever wrote it. */
export function assertPlayed(
  [server, client]: readonly [Ending, Ending],
  { index, iters, size, separator }: Played,
): void {
  const address = gid(index);
  const here = addressesOf(server, "local");
  const there = addressesOf(client, "local");
  assertEquals(here.length, there.length);
  for (const [ending, own, peer] of [[server, here, there], [client, there, here]] as const) {
    assertEquals(ending.stderr, "");
    assertEquals(ending.code, 0);
    for (const line of own) {
      assertStringIncludes(ending.stdout, `  local address:  ${line}${separator} GID ${address}\n`);
    }
    for (const line of peer) {
      assertStringIncludes(ending.stdout, `  remote address: ${line}, GID ${address}\n`);
    }
    assertMatch(
      ending.stdout,
      new RegExp(
        `^${size * iters * 2} bytes in \\d+\\.\\d\\d seconds = \\d+\\.\\d\\d Mbit/sec$`,
        "m",
      ),
    );
    assertMatch(
      ending.stdout,
      new RegExp(`^${iters} iters in \\d+\\.\\d\\d seconds = \\d+\\.\\d\\d usec/iter$`, "m"),
    );
  }
}

/** LID, queue pair number and packet sequence number of each line of that kind. */
export function addressesOf({ stdout }: Ending, kind: "local" | "remote"): string[] {
  return stdout.split("\n")
    .filter((line) => line.startsWith(`  ${kind} address:`))
    .map((line) => /LID 0x[0-9a-f]{4}, QPN 0x[0-9a-f]{6}, PSN 0x[0-9a-f]{6}/.exec(line)?.[0] ?? "");
}

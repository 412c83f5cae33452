// The ping-pongs of the command-line tool with the C tools, in both roles.
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { cli } from "./cli.ts";
import {
  type Ending,
  freshPort,
  type Program,
  start,
  untilListening,
} from "../../../tests/device/programs.ts";
import { deviceTest, openRxe, PORT } from "../../../tests/device/setup.ts";

/** Starts with the first message, not with the compilation of the code. */
const COLD = "--warm-up=0";

/** A GID of the soft-RoCE device as text. */
function gid(index: number): string {
  using context = openRxe();
  return context.queryGid(PORT, index).toString();
}

/** Starts a side with arguments. Leaving its scope waits for its end, or ends it. */
type Peer = (args: readonly string[]) => Pick<Program, "ending" | typeof Symbol.asyncDispose>;

/** The C tool of that name. */
function tool(name: string): Peer {
  return (args) => start(`ibv_${name}`, ...args);
}

/**
 * What the command of that name does, in the process of the test: an emulated processor takes seconds to start a program.
 */
function inProcess(name: string, ...own: readonly string[]): Peer {
  return (args) => {
    const ending = cli("pingpong", name.replace("_pingpong", ""), ...own, ...args);
    return { ending, [Symbol.asyncDispose]: async () => void await ending };
  };
}

/** Runs a server and a client with the same arguments. */
async function play(
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

/** Asserts what both programs print after a ping-pong, whichever wrote it. `separator` is before the GID of the own address. */
function assertPlayed(
  [server, client]: readonly [Ending, Ending],
  index: number,
  { iters = 100, size = 4096, separator = "," },
): void {
  const address = gid(index);
  const here = addressesOf(server);
  const there = addressesOf(client);
  assertEquals(here.length, there.length);
  for (const [ending, own, peer] of [[server, here, there], [client, there, here]] as const) {
    assertEquals([ending.stderr, ending.code], ["", 0]);
    for (const line of own) {
      assertStringIncludes(ending.stdout, `  local address:  ${line}${separator} GID ${address}\n`);
    }
    for (const line of peer) {
      assertStringIncludes(ending.stdout, `  remote address: ${line}, GID ${address}\n`);
    }
    const seconds = "in \\d+\\.\\d\\d seconds = \\d+\\.\\d\\d";
    const bytes = size * iters * 2;
    assertMatch(ending.stdout, new RegExp(`^${bytes} bytes ${seconds} Mbit/sec$`, "m"));
    assertMatch(ending.stdout, new RegExp(`^${iters} iters ${seconds} usec/iter$`, "m"));
  }
}

/** LID, queue pair number and packet sequence number of each own address. */
function addressesOf({ stdout }: Ending): string[] {
  return stdout.split("\n")
    .filter((line) => line.startsWith("  local address:"))
    .map((line) => /LID 0x[0-9a-f]{4}, QPN 0x[0-9a-f]{6}, PSN 0x[0-9a-f]{6}/.exec(line)?.[0] ?? "");
}

// More round trips than receives: the ring wraps.
const COUNT = ["-n", "100", "-r", "30"];
const UD = { size: 1024, separator: ":" };

for (const name of ["rc_pingpong", "uc_pingpong", "srq_pingpong", "ud_pingpong"]) {
  const [ours, theirs] = [inProcess(name, COLD), tool(name)];
  const played = name === "ud_pingpong" ? UD : {};

  deviceTest(`${name} serves ibv_${name} over GID 0`, async () => {
    assertPlayed(await play(ours, theirs, ["-g", "0", ...COUNT]), 0, played);
  });

  deviceTest(`${name} connects to ibv_${name} over GID 1, with events`, async () => {
    assertPlayed(await play(theirs, ours, ["-g", "1", "-e", ...COUNT]), 1, played);
  });
}

deviceTest("srq_pingpong works with ibv_srq_pingpong over so many queue pairs", async () => {
  const args = ["-g", "1", "-q", "3", "-r", "7", "-n", "100"];
  const endings = await play(inProcess("srq_pingpong", COLD), tool("srq_pingpong"), args);
  assertPlayed(endings, 1, {});
  assertEquals(endings.map((ending) => addressesOf(ending).length), [3, 3]);
});

for (const index of [0, 1]) {
  deviceTest(
    `ud_pingpong answers ibv_ud_pingpong by its first datagram over GID ${index}`,
    async () => {
      const args = ["-g", `${index}`, ...COUNT];
      const [server, client] = await play(
        inProcess("ud_pingpong", COLD, "--reply-from-wc"),
        tool("ud_pingpong"),
        args,
      );
      assertPlayed([server, client], index, UD);
      const qpn = /QPN 0x[0-9a-f]{6}/.exec(addressesOf(client)[0]!)![0];
      const from = `${qpn}, SL 0, GID ${gid(index)} to GID index ${index}\n`;
      assertStringIncludes(server.stdout, `  reply address:  LID 0x0000, ${from}`);
    },
  );
}

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { deviceTest, openRxe, PORT } from "../setup.ts";
import {
  type Ending,
  freshPort,
  type Program,
  start,
  startExample,
  untilListening,
} from "../programs.ts";

const TOOL = "ibv_ud_pingpong";
const COLD = "--warm-up=0";

function gid(index: number): string {
  using context = openRxe();
  return context.queryGid(PORT, index).toString();
}

type Peer = (args: readonly string[]) => Program;

function tool(args: readonly string[]): Program {
  return start(TOOL, ...args);
}

function example(...own: readonly string[]): Peer {
  return (args) => startExample("ud_pingpong", [...own, ...args]);
}

/** Lets two peers play; both are given the same arguments. */
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

/** Asserts what both programs print after a play, whoever wrote them. */
function assertPlayed(
  [server, client]: [Ending, Ending],
  { index, iters, size }: { index: number; iters: number; size: number },
): void {
  const address = gid(index);
  const here = addressOf(server, "local");
  const there = addressOf(client, "local");
  for (const [ending, own, peer] of [[server, here, there], [client, there, here]] as const) {
    assertEquals(ending.stderr, "");
    assertEquals(ending.code, 0);
    assertStringIncludes(ending.stdout, `  local address:  ${own}: GID ${address}\n`);
    assertStringIncludes(ending.stdout, `  remote address: ${peer}, GID ${address}\n`);
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

/** LID, queue pair and packet number of a line of that kind. */
function addressOf({ stdout }: Ending, kind: "local" | "remote"): string {
  const line = stdout.split("\n").find((line) => line.startsWith(`  ${kind} address:`)) ?? "";
  return /LID 0x[0-9a-f]{4}, QPN 0x[0-9a-f]{6}, PSN 0x[0-9a-f]{6}/.exec(line)?.[0] ?? "";
}

for (const index of [0, 1]) {
  const played = { index, iters: 1000, size: 1024 };
  const args = ["-g", `${index}`];

  deviceTest(`ud_pingpong serves ibv_ud_pingpong over GID ${index}`, async () => {
    assertPlayed(await play(example(COLD), tool, args), played);
  });

  deviceTest(
    `ud_pingpong answers ibv_ud_pingpong by its first datagram over GID ${index}`,
    async () => {
      const [server, client] = await play(example(COLD, "--reply-from-wc"), tool, args);
      assertPlayed([server, client], played);
      const qpn = /QPN 0x[0-9a-f]{6}/.exec(addressOf(client, "local"))![0];
      const from = `${qpn}, SL 0, GID ${gid(index)} to GID index ${index}\n`;
      assertStringIncludes(server.stdout, `  reply address:  LID 0x0000, ${from}`);
    },
  );

  deviceTest(
    `ud_pingpong plays with an ibv_ud_pingpong that serves over GID ${index}`,
    async () => {
      assertPlayed(await play(tool, example(COLD), args), played);
    },
  );
}

deviceTest("ud_pingpong plays with itself, warmed up, with events and a checked mark", async () => {
  const args = ["-g", "1", "-n", "300", "-s", "64", "-r", "20", "-e", "-c", "-l", "3"];
  const server = example("--warm-up=1500", "--reply-from-wc");
  const endings = await play(server, example("--warm-up=1500"), args);
  assertPlayed(endings, { index: 1, iters: 300, size: 64 });
  assertEquals(endings[0].stdout.includes("invalid data"), false);
});

deviceTest("ud_pingpong says so when the mark is missing", async () => {
  const [server] = await play(
    example(COLD, "--chk"),
    example(COLD),
    ["--gid-idx=1", "--iters=10", "--size=100", "--rx-depth=1"],
  );
  assertStringIncludes(server.stdout, "invalid data in page 0\n");
  assertEquals(server.code, 1);
});

deviceTest("ud_pingpong gives up when the other end falls silent", async () => {
  const options = ["-g", "1", "--timeout=1", "-n"];
  const [server, client] = await play(
    (args) => example(COLD, ...options, "20")(args),
    (args) => example(COLD, ...options, "10")(args),
    [],
  );
  assertEquals(client.code, 0);
  assertEquals(server.code, 1);
  assertMatch(
    server.stderr,
    /^ud_pingpong: After 1\d sent and 1\d received messages, nothing completed within 1 s/,
  );
});

deviceTest("ud_pingpong refuses what cannot work, and says why", async () => {
  const cases: [args: string[], code: number, message: string][] = [
    [["-d", "nope"], 1, 'there is no device "nope"'],
    [["-i", "2"], 1, "has port 1 only"],
    [["-g", "9"], 1, "The slot is empty"],
    [[], 2, `is RoCE, which needs --gid-idx. --gid-idx=1 is ${gid(1)} (RoCE v2 with an IPv4`],
    [["-g", "1", "-s", "100000"], 2, "Cannot send 100000 bytes: the port's MTU is 1024"],
  ];
  for (const [args, code, message] of cases) {
    await using program = example(COLD)(args);
    const ending = await program.ending;
    assertStringIncludes(ending.stderr, message);
    assertEquals(ending.code, code, args.join(" "));
  }
});

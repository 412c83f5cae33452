import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { deviceTest } from "../setup.ts";
import {
  addressesOf,
  assertPlayed,
  COLD,
  example,
  gid,
  inProcess,
  play,
  tool,
} from "./pingpong.ts";

const NAME = "ud_pingpong";
const TOOL = tool(NAME);

// More round trips than receives: the ring wraps.
const COUNT = ["-n", "100", "-r", "30"];
const PLAYED = { iters: 100, size: 1024, separator: ":" } as const;

deviceTest("ud_pingpong serves ibv_ud_pingpong over GID 0", async () => {
  const endings = await play(inProcess(NAME, COLD), TOOL, ["-g", "0", ...COUNT]);
  assertPlayed(endings, { index: 0, ...PLAYED });
});

deviceTest("ud_pingpong plays with an ibv_ud_pingpong that serves over GID 1", async () => {
  const endings = await play(TOOL, inProcess(NAME, COLD), ["-g", "1", ...COUNT]);
  assertPlayed(endings, { index: 1, ...PLAYED });
});

for (const index of [0, 1]) {
  deviceTest(
    `ud_pingpong answers ibv_ud_pingpong by its first datagram over GID ${index}`,
    async () => {
      const args = ["-g", `${index}`, ...COUNT];
      const [server, client] = await play(inProcess(NAME, COLD, "--reply-from-wc"), TOOL, args);
      assertPlayed([server, client], { index, ...PLAYED });
      const qpn = /QPN 0x[0-9a-f]{6}/.exec(addressesOf(client, "local")[0]!)![0];
      const from = `${qpn}, SL 0, GID ${gid(index)} to GID index ${index}\n`;
      assertStringIncludes(server.stdout, `  reply address:  LID 0x0000, ${from}`);
    },
  );
}

deviceTest("ud_pingpong plays with itself, warmed up, with events and a checked mark", async () => {
  const args = ["-g", "1", "-n", "60", "-s", "64", "-r", "20", "-e", "-c", "-l", "3"];
  const server = inProcess(NAME, "--warm-up=20", "--reply-from-wc");
  const endings = await play(server, example(NAME, "--warm-up=20"), args);
  assertPlayed(endings, { index: 1, iters: 60, size: 64, separator: ":" });
  assertEquals(endings[0].stdout.includes("invalid data"), false);
});

deviceTest("ud_pingpong gives up when the other end falls silent", async () => {
  const [server, client] = await play(
    inProcess(NAME, COLD, "--timeout=1", "-n", "20"),
    (args) => TOOL(["-n", "10", ...args]),
    ["-g", "1"],
  );
  assertEquals(client.code, 0);
  assertEquals(server.code, 1);
  assertMatch(
    server.stderr,
    /^pingpong: After 1\d sent and 1\d received messages, nothing completed within 1 s/,
  );
});

deviceTest("ud_pingpong refuses what cannot work, and says why", async () => {
  const cases: [args: string[], code: number, message: string][] = [
    [["-d", "nope"], 1, 'there is no device "nope"'],
    [["-i", "2"], 1, "has port 1 only"],
    [["-g", "9"], 1, "The slot is empty"],
    [[], 1, `is RoCE, which needs --gid-idx. --gid-idx=1 is ${gid(1)} (RoCE v2 with an IPv4`],
    [["-g", "1", "-s", "100000"], 1, "Cannot send 100000 bytes: the port's MTU is 1024"],
  ];
  for (const [args, code, message] of cases) {
    await using program = inProcess(NAME, COLD)(args);
    const ending = await program.ending;
    assertStringIncludes(ending.stderr, message);
    assertEquals(ending.code, code, args.join(" "));
  }
});

// The ping-pongs with their C tools, in both roles.
import { assertEquals } from "@std/assert";
import { deviceTest } from "../setup.ts";
import {
  addressesOf,
  assertPlayed,
  COLD,
  example,
  inProcess,
  play,
  type Played,
  tool,
} from "./pingpong.ts";

for (const name of ["rc_pingpong", "uc_pingpong", "srq_pingpong"]) {
  const ours = inProcess(name, COLD);
  const theirs = tool(name);
  // More round trips than receives: the ring wraps.
  const count = ["-n", "100", "-r", "30"];
  const played = { iters: 100, size: 4096, separator: "," } as const;

  deviceTest(`${name} serves ibv_${name} over GID 0`, async () => {
    assertPlayed(await play(ours, theirs, ["-g", "0", ...count]), { index: 0, ...played });
  });

  deviceTest(`${name} connects to ibv_${name} over GID 1, with events`, async () => {
    const args = ["-g", "1", "-e", ...count];
    assertPlayed(await play(theirs, ours, args), { index: 1, ...played });
  });
}

deviceTest(
  "rc_pingpong works with itself, warmed up, with other sizes and checked marks",
  async () => {
    const name = "rc_pingpong";
    const sizes = ["-n", "60", "-s", "10000", "-m", "512", "-r", "20", "-c", "-l", "3"];
    const [server, client] = [inProcess, example].map((peer) => peer(name, "--warm-up=20"));
    const endings = await play(server!, client!, ["-g", "1", ...sizes]);
    const played: Played = { index: 1, iters: 60, size: 10000, separator: "," };
    assertPlayed(endings, played);
  },
);

deviceTest(
  "srq_pingpong works with ibv_srq_pingpong over the number of queue pairs given",
  async () => {
    const args = ["-g", "1", "-q", "3", "-r", "7", "-n", "100"];
    const endings = await play(inProcess("srq_pingpong", COLD), tool("srq_pingpong"), args);
    assertPlayed(endings, { index: 1, iters: 100, size: 4096, separator: "," });
    assertEquals(endings.map((ending) => addressesOf(ending, "local").length), [3, 3]);
  },
);

// rc_pingpong, uc_pingpong and srq_pingpong with their C tools, in both roles.
import { assertEquals, assertStringIncludes } from "@std/assert";
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
  for (const [index, events] of [[0, false], [1, true]] as const) {
    const how = `over GID ${index}${events ? " with events" : ""}`;
    const args = ["-g", `${index}`, ...events ? ["-e"] : [], ...count];
    const played: Played = { index, iters: 100, size: 4096, separator: "," };

    deviceTest(`${name} serves ibv_${name} ${how}`, async () => {
      assertPlayed(await play(ours, theirs, args), played);
    });

    deviceTest(`${name} connects to ibv_${name} ${how}`, async () => {
      assertPlayed(await play(theirs, ours, args), played);
    });
  }

  deviceTest(
    `${name} works with itself, warmed up, with other sizes and checked marks`,
    async () => {
      const sizes = ["-n", "60", "-s", "10000", "-m", "512", "-r", "20", "-c", "-l", "3"];
      const [server, client] = [inProcess, example].map((peer) => peer(name, "--warm-up=20"));
      const played = await play(server!, client!, ["-g", "1", ...sizes]);
      assertPlayed(played, { index: 1, iters: 60, size: 10000, separator: "," });
    },
  );

  deviceTest(`${name} reports each page without a mark`, async () => {
    const args = ["-g", "1", "-n", "10", "-s", "5000"];
    const [server] = await play(inProcess(name, COLD, "-c"), example(name, COLD), args);
    assertStringIncludes(server.stdout, "invalid data in page 0\ninvalid data in page 1\n");
    assertEquals(server.code, 1);
  });

  deviceTest(`${name} refuses an MTU that does not exist`, async () => {
    await using program = ours(["-g", "1", "-m", "1500"]);
    const { code, stderr } = await program.ending;
    assertStringIncludes(stderr, "--mtu takes 256, 512, 1024, 2048 or 4096");
    assertEquals(code, 1);
  });
}

deviceTest(
  "srq_pingpong works with ibv_srq_pingpong over the number of queue pairs given",
  async () => {
    const args = ["-g", "1", "-q", "3", "-r", "7"];
    const endings = await play(inProcess("srq_pingpong", COLD), tool("srq_pingpong"), args);
    assertPlayed(endings, { index: 1, iters: 1000, size: 4096, separator: "," });
    assertEquals(endings.map((ending) => addressesOf(ending, "local").length), [3, 3]);
  },
);

deviceTest("srq_pingpong refuses fewer receives than queue pairs", async () => {
  await using program = inProcess("srq_pingpong")(["-g", "1", "-r", "15"]);
  const { code, stderr } = await program.ending;
  assertStringIncludes(stderr, "--rx-depth is 15, and each of 16 queue pairs needs a receive");
  assertEquals(code, 1);
});

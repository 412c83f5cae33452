import { assertEquals } from "@std/assert";
import { listenUd } from "../../../net/mod.ts";
import { twinLink } from "../net/twin_link.ts";
import { startExample } from "../programs.ts";
import { deviceTest, QKEY, RXE } from "../setup.ts";

const GROUP = "::ffff:239.1.2.5";
const RIGHTS = ["--allow-ffi"];

deviceTest(
  "multicast_chat.ts sends lines to the group, and prints those of others without control characters",
  async () => {
    await using link = await twinLink();
    const [first, second] = link.devices;
    await using member = await listenUd({
      device: first,
      qkey: QKEY,
      gidIndex: link.gidIndex(first, true),
    });
    await using chat = startExample("multicast_chat", ["-d", second, "-m", GROUP], RIGHTS);
    const [, own] = /^group ::ffff:239\.1\.2\.5, you are (\S+ #\d+)$/.exec(
      (await chat.line())!,
    )!;
    {
      await using _ = await link.listen("239.1.2.5/32", 1);
      const group = { ...member.addr, gid: GROUP, qpn: 0xff_ffff };
      await member.send(new TextEncoder().encode("\x1b[2Jhello\nall"), group);
      const name = `${member.addr.gid} #${member.addr.qpn}`;
      assertEquals(await chat.line(), `${name}: ${String.raw`\u{1b}[2Jhello\u{a}all`}`);
    }

    await using _ = await link.listen("239.1.2.5/32", 0);
    member.attachMcast(GROUP);
    await chat.write(`${"x".repeat(1025)}\nGrüße\n`);
    const [message, from] = await member.receive(undefined, {
      signal: AbortSignal.timeout(20_000),
    });
    assertEquals(new TextDecoder().decode(message), "Grüße");
    assertEquals(`${from.gid} #${from.qpn}`, own);

    await chat.endInput();
    assertEquals(await chat.line(), undefined);
    const { code, stderr } = await chat.ending;
    assertEquals([code, stderr], [0, "The line has 1025 bytes, and 1024 are possible\n"]);
  },
);

deviceTest("multicast_chat.ts ends at Ctrl-C, also while it waits for a line", async () => {
  await using chat = startExample("multicast_chat", ["-d", RXE], RIGHTS);
  assertEquals((await chat.line())!.startsWith("group ::ffff:239.1.2.3, you are "), true);
  await chat.kill("SIGINT");
  assertEquals(await chat.line(), undefined);
  const { code, stderr } = await chat.ending;
  assertEquals([code, stderr], [0, ""]);
});

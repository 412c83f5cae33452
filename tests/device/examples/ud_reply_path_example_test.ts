import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { main } from "../../../examples/ud_reply_path.ts";
import { type GidEntry, mtuBytes } from "../../../mod.ts";
import { freshPort, untilListening } from "../programs.ts";
import { deviceTest, openRxe, PORT, QKEY, RXE } from "../setup.ts";
import { listenUd, type UdAddress } from "../../../net/mod.ts";
import { exchange, runHere, runPair, startHere } from "./ladder.ts";

function gids(): GidEntry[] {
  using context = openRxe();
  return context.gidTable(PORT).slice(0, 3);
}

/** Asserts that the listener learned the sender from what it received. */
function assertListened(stdout: string, { gid, gidIndex }: GidEntry, message: string): void {
  assertStringIncludes(stdout, `listener: received "${message}"\n`);
  const field = (name: string): string =>
    new RegExp(`^ +${name.replaceAll(".", "\\.")} +(.*)$`, "m").exec(stdout)?.[1] ?? "";
  if (gid.isIpv4Mapped) {
    assertEquals(field("version"), "4");
    assertEquals(`::ffff:${field("saddr")}`, `${gid}`);
    assertEquals(field("totalLength"), `${20 + 8 + 12 + 8 + padded(message) + 4} bytes`);
  } else {
    assertEquals(field("version"), "6");
    assertEquals(field("sgid"), `${gid}`);
    assertEquals(field("nextHdr"), "17");
  }
  assertEquals(field("status"), "SUCCESS (0)");
  assertEquals(field("opcode"), "RECV (128)");
  assertEquals(
    field("byteLen"),
    `${40 + message.length} bytes: 40 of GRH, ${message.length} of message`,
  );
  assertEquals(field("wcFlags"), "GRH (1)");
  assertEquals(field("isGlobal"), "true");
  assertEquals(field("grh.dgid"), `${gid}`);
  assertEquals(field("grh.sgidIndex"), `${gidIndex}`);
  assertEquals(field("portNum"), "1");
  assertStringIncludes(stdout, `listener: replied to queue pair ${field("srcQp")} at ${gid}\n`);
}

/** A payload is sent in words of 4 bytes. */
function padded(message: string): number {
  return Math.ceil(message.length / 4) * 4;
}

/** Asserts that the reply came back and named its receiver. */
function assertAnswered(stdout: string, { gid }: GidEntry, message: string): void {
  assertStringIncludes(stdout, `caller: sending "${message}" to queue pair 0x`);
  const from = `${gid}`.replaceAll(".", "\\.");
  assertMatch(
    stdout,
    new RegExp(
      `^caller: received "${message.length} bytes came from queue pair 0x[0-9a-f]{6} at ${from}"$`,
      "m",
    ),
  );
  assertMatch(stdout, /^caller: round trip \d+ us/m);
}

for (const entry of gids()) {
  const { gid, gidIndex } = entry;

  deviceTest(`ud_reply_path.ts answers itself over GID ${gidIndex}`, async () => {
    const message = `to ${gid}`;
    const { code, stdout, stderr } = await runHere(main, "-g", `${gidIndex}`, "-m", message);
    assertEquals([stderr, code], ["", 0]);
    assertStringIncludes(stdout, `GID index ${gidIndex}, ${gid}: given\n`);
    assertListened(stdout, entry, message);
    assertAnswered(stdout, entry, message);
  });

  deviceTest(
    `ud_reply_path.ts answers a caller that meets it by TCP over GID ${gidIndex}`,
    async () => {
      const { code, stdout, stderr } = await runPair(main, "--gid-index", `${gidIndex}`);
      assertEquals([stderr, code], ["", 0]);
      assertListened(stdout, entry, "Hello");
      assertAnswered(stdout, entry, "Hello");
    },
  );
}

deviceTest(
  "ud_reply_path.ts answers the caller of another program, and prints no control characters",
  async () => {
    const port = freshPort();
    const { ending } = startHere(main, "--listen", "--tcp-port", `${port}`);
    await untilListening(port);
    const { gid, lid, qpn } = await exchange(port, null) as UdAddress;
    await using caller = await listenUd({ device: RXE, qkey: QKEY });
    const server: UdAddress = { transport: "UD", gid, lid, qpn, qkey: QKEY };
    await caller.send(new TextEncoder().encode("\x1b[2J"), server);
    const [answer, from] = await caller.receive(undefined, { signal: AbortSignal.timeout(20_000) });
    const own = `0x${caller.addr.qpn.toString(16).padStart(6, "0")} at ${caller.addr.gid}`;
    assertEquals(new TextDecoder().decode(answer), `4 bytes came from queue pair ${own}`);
    assertEquals(from.qpn, qpn);
    const { code, stdout, stderr } = await ending;
    assertEquals([stderr, code], ["", 0]);
    assertStringIncludes(stdout, String.raw`listener: received "\u001b[2J"`);
  },
);

deviceTest("ud_reply_path.ts refuses what cannot work, and says why", async () => {
  using context = openRxe();
  const mtu = mtuBytes(context.queryPort(PORT).activeMtu);
  const cases: [args: string[], code: number, message: string][] = [
    [["--device", "nope"], 1, 'there is no device "nope". The devices are: '],
    [["--gid-index", "9"], 1, "The slot is empty"],
    [["--message", "x".repeat(mtu + 1)], 2, `--message has ${mtu + 1} bytes, and the MTU`],
    [["--connect=127.0.0.1", "-p", `${freshPort()}`, "-t", "1"], 1, "Cannot connect to 127.0.0.1"],
  ];
  for (const [args, status, message] of cases) {
    const { code, stderr } = await runHere(main, ...args);
    assertStringIncludes(stderr, "ud_reply_path: ");
    assertStringIncludes(stderr, message);
    assertEquals(code, status, args.join(" "));
  }
});

deviceTest("ud_reply_path.ts does not wait for ever for a message that is lost", async () => {
  const port = freshPort();
  const { ending } = startHere(main, "--listen", "--timeout=1", "--tcp-port", `${port}`);
  await untilListening(port);
  await exchange(port, null);
  const { code, stderr } = await ending;
  assertEquals([code, stderr], [1, "ud_reply_path: No datagram arrived within 1 s\n"]);
});

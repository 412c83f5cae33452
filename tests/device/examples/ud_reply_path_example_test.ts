import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { type GidEntry, mtuBytes } from "../../../mod.ts";
import { deviceTest, openRxe, PORT } from "../setup.ts";
import { freshPort, startExample, untilListening } from "../programs.ts";

const EXAMPLE = "ud_reply_path";

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

  deviceTest(`ud_reply_path answers itself over GID ${gidIndex}`, async () => {
    const message = `to ${gid}`;
    await using program = startExample(EXAMPLE, ["-g", `${gidIndex}`, "-m", message]);
    const { code, stdout, stderr } = await program.ending;
    assertEquals(stderr, "");
    assertEquals(code, 0);
    assertStringIncludes(stdout, `GID index ${gidIndex}, ${gid}: given\n`);
    assertListened(stdout, entry, message);
    assertAnswered(stdout, entry, message);
  });

  deviceTest(`ud_reply_path answers another process over GID ${gidIndex}`, async () => {
    const port = freshPort();
    const options = ["--gid-index", `${gidIndex}`, "--tcp-port", `${port}`, "--timeout=60"];
    await using listening = startExample(EXAMPLE, ["--listen", ...options]);
    await untilListening(port);
    await using calling = startExample(EXAMPLE, ["--connect", "127.0.0.1", ...options]);
    const [listener, caller] = await Promise.all([listening.ending, calling.ending]);
    assertEquals([listener.stderr, caller.stderr], ["", ""]);
    assertEquals([listener.code, caller.code], [0, 0]);
    assertListened(listener.stdout, entry, "Hello");
    assertAnswered(caller.stdout, entry, "Hello");
  });
}

deviceTest(
  "ud_reply_path takes the IPv4 GID unless told otherwise, and needs no rights but FFI",
  async () => {
    await using program = startExample(EXAMPLE, [], ["--allow-ffi"]);
    const { code, stdout } = await program.ending;
    assertEquals(code, 0);
    const entry = gids().find(({ gid }) => gid.isIpv4Mapped)!;
    assertStringIncludes(
      stdout,
      `GID index ${entry.gidIndex}, ${entry.gid}: RoCE v2 with an IPv4 address`,
    );
    assertAnswered(stdout, entry, "Hello");
  },
);

deviceTest("ud_reply_path refuses what cannot work, and says why", async () => {
  using context = openRxe();
  const mtu = mtuBytes(context.queryPort(PORT).activeMtu);
  const cases: [args: string[], code: number, message: string][] = [
    [["--device", "nope"], 1, 'there is no device "nope". The devices are: '],
    [["--gid-index", "9"], 1, "The slot is empty"],
    [["--message", "x".repeat(mtu + 1)], 2, `--message has ${mtu + 1} bytes, and the MTU`],
    [["--listen", "--timeout=1", "--tcp-port", `${freshPort()}`], 1, "Nobody connected within 1 s"],
    [["--connect", "127.0.0.1", "--tcp-port", `${freshPort()}`], 1, "Cannot connect to 127.0.0.1"],
  ];
  for (const [args, code, message] of cases) {
    await using program = startExample(EXAMPLE, args);
    const ending = await program.ending;
    assertStringIncludes(ending.stderr, `${EXAMPLE}: `);
    assertStringIncludes(ending.stderr, message);
    assertEquals(ending.code, code, args.join(" "));
  }
});

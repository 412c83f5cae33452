// The examples of reliable connections.
import { createHash } from "node:crypto";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { main as count } from "../../../examples/atomics_counter.ts";
import { main as transfer } from "../../../examples/file_transfer.ts";
import { main as write } from "../../../examples/rc_write_imm.ts";
import { main as rpc } from "../../../examples/rpc_by_name.ts";
import { connectRc, type RemoteMemory } from "../../../net/mod.ts";
// librdmacm keeps the device open: not within a test.
import "../cm/bed.ts";
import { freshPort, untilListening } from "../programs.ts";
import { deviceTest, RXE } from "../setup.ts";
import { linesOf, runEnds, runHere, runPair, serve, startHere } from "./ladder.ts";

for (const [how, run] of [["in one process", runHere], ["that meet over TCP", runPair]] as const) {
  deviceTest(`rc_write_imm.ts writes lines between ends ${how}`, async () => {
    const lines = linesOf(await run(write, "-d", RXE, "--message", "ä/\u009b2J//end"));
    assertEquals(lines.toSorted(), [
      "client: wrote 4 lines into the server's memory",
      'server: slot 0 has "ä" (2 bytes)',
      String.raw`server: slot 1 has "\u{9b}2J" (4 bytes)`,
      'server: slot 2 has "" (0 bytes)',
      'server: slot 3 has "end" (3 bytes)',
    ]);
  });
}

deviceTest("rc_write_imm.ts refuses an address that is none", async () => {
  using listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const answers = ['{"address":{"transport":"RC"},"addr":"0","rkey":0}\n', "\x1b[2J\n"];
  const telling = (async () => {
    for (const answer of answers) {
      using connection = await listener.accept();
      await connection.write(new TextEncoder().encode(answer));
      await connection.read(new Uint8Array(1024));
    }
  })();
  const args = ["-d", RXE, "-c", "127.0.0.1", "-p", `${listener.addr.port}`];
  const endings = [await runHere(write, ...args), await runHere(write, ...args)];
  await telling;
  assertEquals(endings.map(({ code }) => code), [1, 1]);
  assertStringIncludes(endings[0]!.stderr, "rc_write_imm: Cannot use qpn of the peer");
  assertEquals(
    endings[1]!.stderr,
    'rc_write_imm: The other end sent "\\u001b[2J" instead of its address\n',
  );
});

/** The numbers that clients say they got: first and last of each. */
function numbersOf(lines: string[]): number[] {
  return lines.flatMap((line) => {
    const [, first, last] = /^client \d: added 1 20 times, and got numbers from (\d+) to (\d+)$/
      .exec(line) ?? [];
    return first === undefined ? [] : [Number(first), Number(last)];
  });
}

for (const [how, run] of [["in one process", runHere], ["that meet over TCP", runEnds]] as const) {
  deviceTest(`atomics_counter.ts loses no addition between ends ${how}`, async () => {
    const port = `--tcp-port=${freshPort()}`;
    const args = ["-d", RXE, "--clients=3", "--adds=20", ...run === runHere ? [port] : []];
    const lines = linesOf(await run(count, ...args));
    assertEquals(lines.at(-1), "server: the counter is 60");
    const numbers = numbersOf(lines);
    assertEquals([numbers.length, lines.length], [6, 4]);
    assertEquals([Math.min(...numbers), Math.max(...numbers)], [0, 59]);
  });
}

deviceTest("atomics_counter.ts counts for others, also after a client that went away", async () => {
  const ending = await serve(count, ["-d", RXE], async (tcpPort) => {
    const connect = async (): Promise<Awaited<ReturnType<typeof connectRc>>> =>
      await connectRc({ device: RXE, tcpPort });
    {
      // It leaves at once, without a word.
      using _gone = await connect();
    }
    await using client = await connect();
    const memory: RemoteMemory = JSON.parse(new TextDecoder().decode((await client.receive())!));
    assertEquals(memory.length, 8);
    assertEquals(await client.fetchAdd(memory, 0, 5n), 0n);
    assertEquals(await client.fetchAdd(memory, 0, 37n), 5n);
  });
  assertEquals([ending.code, ending.stdout], [0, "server: the counter is 42\n"]);
});

for (const [how, run] of [["in one process", runHere], ["that meet over TCP", runPair]] as const) {
  deviceTest(`file_transfer.ts stores what it reads, between ends ${how}`, async () => {
    const folder = await Deno.makeTempDir();
    const [file, output] = [`${folder}/from`, `${folder}/to`];
    const port = run === runHere ? [`--tcp-port=${freshPort()}`] : [];
    // Nothing, less than a part, whole parts, and more parts than there are slots.
    for (const size of [0, 7, 2 * 65_536, 12 * 65_536 + 1]) {
      const bytes = Uint8Array.from({ length: size }, (_, i) => i * 31 >> 5);
      await Deno.writeFile(file, bytes);
      const lines = linesOf(await run(transfer, "-d", RXE, "-f", file, "-o", output, ...port));
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      const parts = Math.ceil(size / 65_536);
      assertEquals(lines.toSorted(), [
        `client: ${size} bytes arrived as they were sent`,
        `server: ${size} bytes in ${parts} parts, SHA-256 ${sha256}`,
      ]);
      assertEquals(await Deno.readFile(output), bytes);
    }
    await Deno.remove(folder, { recursive: true });
  });
}

deviceTest(
  "file_transfer.ts stops a client that writes another part than the next one",
  async () => {
    const tcpPort = freshPort();
    const running = startHere(transfer, "--listen", `--tcp-port=${tcpPort}`, "-d", RXE);
    await untilListening(tcpPort);
    {
      await using client = await connectRc({ device: RXE, tcpPort });
      await client.send(new TextEncoder().encode('{"size":200000}'));
      const memory: RemoteMemory = JSON.parse(new TextDecoder().decode((await client.receive())!));
      await client.write(memory, 0, new Uint8Array(8), { imm: 5 });
      assertEquals(await client.receive(), null);
    }
    // It ends by itself: a signal could come when it listens to none any more.
    const ending = await running.ending;
    assertEquals([ending.code, ending.stderr], [1, "file_transfer: The client wrote no part 0\n"]);
  },
);

deviceTest("rpc_by_name.ts calls functions of a server that is found by its address", async () => {
  const lines = linesOf(await runHere(rpc, "-d", RXE, `--service=${freshPort()}`));
  assertEquals(lines, [
    "server: a client connects",
    "add(2,3) gives 5",
    'reverse("hello") gives "olleh"',
    "frobnicate() fails: there is no such function",
  ]);
});

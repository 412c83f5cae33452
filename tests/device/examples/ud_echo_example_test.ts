import { assertEquals, assertMatch } from "@std/assert";
import { main } from "../../../examples/ud_echo.ts";
import { main as askMany } from "../../../examples/reply_path_clients.ts";
import { listenUd, type UdAddress } from "../../../net/mod.ts";
import { deviceTest, gidOf, openRxe, QKEY, RXE } from "../setup.ts";
import { exchange, linesOf, type Main, runEnds, runHere, serve } from "./ladder.ts";

function gid(): string {
  using context = openRxe();
  return `${gidOf(context, "ipv4").gid}`;
}

/** Asserts that both ends of the echo printed what they should. The client may have asked more than once. */
function assertEchoed(lines: string[], bytes: number, text: string): void {
  const client = lines.filter((line) => line.startsWith("client: "));
  const server = lines.filter((line) => line.startsWith("server: "));
  assertEquals(client, [`client: ${text} came back`]);
  assertEquals(client.length + server.length, lines.length);
  for (const line of server) {
    assertMatch(line, new RegExp(`^server: ${bytes} bytes from ${gid()}, queue pair \\d+$`));
  }
}

deviceTest("ud_echo.ts echoes to itself, and prints no control characters", async () => {
  const lines = linesOf(await runHere(main, "-d", RXE, "--message", "\x1b[2Jü"));
  assertEchoed(lines, 6, String.raw`"\u001b[2Jü"`);
});

deviceTest("ud_echo.ts echoes to a client that asks for the address by TCP", async () => {
  assertEchoed(linesOf(await runEnds(main, "-d", RXE)), 5, '"hello"');
});

const SERVERS: readonly (readonly [string, Main])[] = [["ud_echo", main], [
  "reply_path_clients",
  askMany,
]];

for (const [name, server] of SERVERS) {
  deviceTest(`${name}.ts serves others, also after callers that say nothing`, async () => {
    const ending = await serve(server, ["-d", RXE, "--timeout=1"], async (tcpPort) => {
      const call = (): Promise<Deno.TcpConn> => Deno.connect({ port: tcpPort });
      (await call()).close();
      // This one says nothing. The next one waits until its time is over.
      using _silent = await call();
      const address = await exchange(tcpPort, null) as UdAddress;
      assertEquals([address.gid, address.qkey], [gid(), QKEY]);
      await using client = await listenUd({ device: RXE, qkey: QKEY });
      for (const message of [new Uint8Array(client.maxMessage).fill(7), new Uint8Array(0)]) {
        await client.send(message, address);
        const [answer] = await client.receive(undefined, { signal: AbortSignal.timeout(20_000) });
        assertEquals(answer, message);
      }
    });
    const lines = linesOf(ending);
    if (server === main) assertEquals(lines.map((line) => line.split(" ")[1]), ["1024", "0"]);
    else assertEquals(lines, ["server: answered 2 datagrams of 1 clients with 1 address handle"]);
  });
}

deviceTest("reply_path_clients.ts answers all clients with one handle for their host", async () => {
  for (const run of [runHere, runEnds]) {
    const lines = linesOf(await run(askMany, "-d", RXE, "--clients=3", "--rounds=2"));
    assertEquals(lines[0], "client: 3 clients got the answers to 2 datagrams each");
    const [, answered] = /^server: answered (\d+) datagrams of 3 clients with 1 address handle$/
      .exec(lines[1]!)!;
    // A slow answer makes a client ask again.
    assertEquals(Number(answered) >= 6, true);
    assertEquals(lines.length, 2);
  }
});

deviceTest("ud_echo.ts says so if nobody answers", async () => {
  // The queue pair takes datagrams, and nobody answers them.
  await using silent = await listenUd({ device: RXE, qkey: QKEY });
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const telling = (async () => {
    using connection = await listener.accept();
    await connection.write(new TextEncoder().encode(`${JSON.stringify(silent.addr)}\n`));
    await connection.read(new Uint8Array(64));
  })();
  const { port } = listener.addr;
  const args = ["-d", RXE, "-c", "127.0.0.1", "-p", `${port}`, "-t", "3"];
  const { code, stderr } = await runHere(main, ...args);
  await telling;
  listener.close();
  assertEquals([code, stderr], [1, "ud_echo: Nobody answered within 3 s\n"]);
});

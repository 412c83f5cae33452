import { assertEquals } from "@std/assert";
import { listenUd } from "../../../net/mod.ts";
import { twinLink } from "../net/twin_link.ts";
import { importMap } from "../programs.ts";
import { deviceTest, QKEY, RXE } from "../setup.ts";

const GROUP = "::ffff:239.1.2.5";
const EXAMPLE = new URL("../../../examples/multicast_chat.ts", import.meta.url).pathname;

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
    await using chat = startChat("-d", second, "-m", GROUP);
    await using printed = linesOf(chat.stdout);
    const [, own] = /^group ::ffff:239\.1\.2\.5, you are (\S+ #\d+)$/.exec(
      (await printed.next()).value!,
    )!;
    {
      await using _ = await link.listen("239.1.2.5/32", 1);
      const group = { ...member.addr, gid: GROUP, qpn: 0xff_ffff };
      await member.send(new TextEncoder().encode("\x1b[2Jhello\nall"), group);
      const name = `${member.addr.gid} #${member.addr.qpn}`;
      assertEquals((await printed.next()).value, `${name}: ${String.raw`\u{1b}[2Jhello\u{a}all`}`);
    }

    await using _ = await link.listen("239.1.2.5/32", 0);
    member.joinMulticast(GROUP);
    const input = chat.stdin.getWriter();
    await input.write(new TextEncoder().encode(`${"x".repeat(1025)}\nGrüße\n`));
    const [message, from] = await member.receive(undefined, {
      signal: AbortSignal.timeout(20_000),
    });
    assertEquals(new TextDecoder().decode(message), "Grüße");
    assertEquals(`${from.gid} #${from.qpn}`, own);

    await input.close();
    assertEquals([await printed.next(), (await chat.status).code], [{
      value: undefined,
      done: true,
    }, 0]);
    assertEquals(
      await new Response(chat.stderr).text(),
      "The line has 1025 bytes, and 1024 are possible\n",
    );
  },
);

deviceTest("multicast_chat.ts ends at Ctrl-C, also while it waits for a line", async () => {
  await using chat = startChat("-d", RXE);
  await using printed = linesOf(chat.stdout);
  assertEquals((await printed.next()).value!.startsWith("group ::ffff:239.1.2.3, you are "), true);
  chat.kill("SIGINT");
  await chat.status;
  await chat.stdin.abort();
  assertEquals([await printed.next(), (await chat.status).code], [
    { value: undefined, done: true },
    0,
  ]);
  assertEquals(await new Response(chat.stderr).text(), "");
});

function startChat(...args: string[]): Deno.ChildProcess {
  const options = ["--quiet", "--no-check", "--no-prompt", ...importMap(), "--allow-ffi"];
  return new Deno.Command(Deno.execPath(), {
    args: ["run", ...options, EXAMPLE, ...args],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
    signal: AbortSignal.timeout(60_000),
  }).spawn();
}

async function* linesOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
}

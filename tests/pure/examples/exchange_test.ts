import { assertEquals, assertRejects } from "@std/assert";
import { call, callers, type Exchange, exchangeHere } from "../../../examples/support/exchange.ts";
import { runEnds } from "../../../examples/support/ends.ts";
import type { Wait } from "../../../examples/support/signals.ts";

/** A TCP port that nobody uses: other runs of the tests may be on this host. */
function freePort(): number {
  using listener = Deno.listen({ port: 0 });
  return listener.addr.port;
}

/** Gives peers one value until the signal aborts. Returns what the peers gave. */
async function giveAll(peers: AsyncIterable<Exchange>, value: unknown): Promise<unknown[]> {
  const given: unknown[] = [];
  for await (const peer of peers) {
    given.push(await peer(value).catch((error) => (error as Error).message));
  }
  return given;
}

Deno.test("exchangeHere() gives each end the value of the other, until its signal aborts", async () => {
  const stop = new AbortController();
  const [left, right] = exchangeHere(stop.signal);
  const first = left("a");
  assertEquals(await right(1), "a");
  assertEquals([await first, await Promise.all([right(2), left("b")])], [1, ["b", 2]]);
  const waiting = left(1);
  stop.abort(new Error("enough"));
  await assertRejects(() => waiting, Error, "enough");
});

Deno.test("callers() exchanges with callers until its signal aborts, whatever they send", async () => {
  const stop = new AbortController();
  const { signal } = stop;
  const port = freePort();
  const serving = giveAll(callers(port, { seconds: 1, signal }), { answer: 42 });
  const raw = async (text: string): Promise<void> => {
    using connection = await Deno.connect({ port });
    await connection.write(new TextEncoder().encode(text));
    await new Response(connection.readable).text();
  };
  {
    using peer = await call("127.0.0.1", port, { seconds: 10, signal });
    assertEquals(await peer([1, null]), { answer: 42 });
  }
  await raw("\x1b[2J\n");
  await raw("x".repeat(5000));
  // It sends nothing, and does not leave.
  await raw("");
  stop.abort();
  assertEquals(await serving, [
    [1, null],
    String.raw`The other end sent "\u001b[2J" instead of its address`,
    `The other end sent "${"x".repeat(1024)}" instead of its address`,
    "The other end did not answer within 1 s",
  ]);
});

Deno.test("call() finds a server that starts later", async () => {
  const stop = new AbortController();
  const wait = { seconds: 10, signal: stop.signal };
  const port = freePort();
  const calling = call("127.0.0.1", port, wait);
  await new Promise((resolve) => setTimeout(resolve, 10));
  const serving = giveAll(callers(port, wait), "late");
  {
    using peer = await calling;
    assertEquals(await peer(0), "late");
  }
  stop.abort();
  assertEquals(await serving, [0]);
});

const BOTH = { listen: false, connect: undefined, tcpPort: 1, timeout: 1 };

Deno.test("runEnds() tells the server when the client has ended, and waits for it", async () => {
  const seen: unknown[] = [];
  await runEnds(BOTH, {
    server: async (peers, wait, done) => {
      seen.push(...await giveAll(peers, "server"));
      while (!done.aborted) await new Promise((resolve) => setTimeout(resolve));
      seen.push(wait.signal.aborted);
    },
    client: async (peer) => void seen.push(await peer("client")),
  });
  assertEquals(new Set(seen), new Set(["client", "server", false]));
  assertEquals(seen[2], false);
});

for (const failing of ["server", "client"] as const) {
  Deno.test(`runEnds() throws the error of the ${failing}, and stops the other end`, async () => {
    const seen: unknown[] = [];
    const end = (name: string) => async (_: unknown, { signal }: Wait): Promise<void> => {
      if (name === failing) throw new Error(failing);
      const wait = new Promise((_, reject) => signal.addEventListener("abort", reject));
      await wait.catch(() => seen.push((signal.reason as Error).message));
      throw new Error("not this one");
    };
    const ends = { server: end("server"), client: end("client") };
    await assertRejects(() => runEnds(BOTH, ends), Error, failing);
    assertEquals(seen, [failing]);
  });
}

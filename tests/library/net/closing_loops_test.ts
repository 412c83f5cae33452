// Closing a connection or a listener ends the loops over it: see ../closing_loops_test.ts for those of verbs.
import { assertEquals } from "@std/assert";
import { connectRc, listenRc, listenUd } from "../../../net/mod.ts";
import { connectTimeout, RXE, test } from "./recorder_net.ts";

type Closable = AsyncIterable<unknown> & Disposable & AsyncDisposable & { close(): unknown };

interface Source {
  readonly over: Closable;
  /** What has to be closed too. */
  readonly others: readonly AsyncDisposable[];
  /** Makes something come. */
  readonly send: () => Promise<unknown>;
}

const options = { device: RXE, connectTimeout };

const SOURCES: Readonly<Record<string, () => Promise<Source>>> = {
  UdConn: async () => {
    const conn = await listenUd({ device: RXE });
    return { over: conn, others: [], send: () => conn.send(Uint8Array.of(7), conn.addr) };
  },
  RcListener: async () => {
    const listener = await listenRc(options);
    const { port: tcpPort } = listener.addr;
    const clients: AsyncDisposable[] = [];
    const send = async (): Promise<void> =>
      void clients.push(await connectRc({ ...options, tcpPort }));
    return { over: listener, others: clients, send };
  },
  RcConn: async () => {
    const listener = await listenRc(options);
    const { port: tcpPort } = listener.addr;
    const [client, server] = await Promise.all([
      connectRc({ ...options, tcpPort }),
      listener.accept(),
    ]);
    return { over: server, others: [client, listener], send: () => client.send(Uint8Array.of(7)) };
  },
};

async function countOf(loop: AsyncIterable<unknown>, onFirst?: () => unknown): Promise<number> {
  let count = 0;
  for await (const one of loop) {
    if (count++ === 0) onFirst?.();
    if (isClosable(one)) await one[Symbol.asyncDispose]();
  }
  return count;
}

function isClosable(value: unknown): value is AsyncDisposable {
  return typeof value === "object" && value !== null && Symbol.asyncDispose in value;
}

function asleep(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}

async function closeAll({ over, others }: Source): Promise<void> {
  for (const one of [over, ...others]) await one[Symbol.asyncDispose]();
}

for (const [name, open] of Object.entries(SOURCES)) {
  test(`A loop over ${name} that sleeps ends when it is closed`, async () => {
    const source = await open();
    const count = countOf(source.over);
    await asleep();
    const closed = source.over.close();
    assertEquals(await count, 0);
    await closed;
    await closeAll(source);
  });

  test(`A loop over ${name} ends when its own body closes it`, async () => {
    const source = await open();
    const count = countOf(source.over, () => void source.over.close());
    await source.send();
    assertEquals(await count, 1);
    await closeAll(source);
  });

  // What its body would answer cannot be sent any more.
  test(`A loop over ${name} leaves what has come when its body closes it`, async () => {
    const source = await open();
    for (let i = 0; i < 3; i++) await source.send();
    await asleep();
    assertEquals(await countOf(source.over, () => void source.over.close()), 1);
    await closeAll(source);
  });

  test(`A loop over ${name} ends with the block that has it by using`, async () => {
    const source = await open();
    let count;
    {
      using over = source.over;
      count = countOf(over);
      await asleep();
    }
    assertEquals(await count, 0);
    await closeAll(source);
  });

  test(`A loop over ${name} ends at once when it is closed already`, async () => {
    const source = await open();
    await source.over[Symbol.asyncDispose]();
    assertEquals(await countOf(source.over), 0);
    await closeAll(source);
  });

  // A connection that is being made comes in later turns.
  if (name === "RcListener") continue;
  test(`A loop over ${name} gives nothing that comes as it is closed`, async () => {
    const source = await open();
    let isClosed = false;
    const late: unknown[] = [];
    const looped = (async () => {
      for await (const one of source.over) if (isClosed) late.push(one);
    })();
    await asleep();
    const sent = source.send();
    isClosed = true;
    const closed = source.over.close();
    await looped;
    assertEquals(late, []);
    await Promise.allSettled([sent, closed]);
    await closeAll(source);
  });
}

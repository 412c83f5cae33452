/** Peers on TCP that keep to no protocol. */

import { bytes, hostileText, mutated } from "./inputs.ts";
import { fc } from "./target.ts";

const hostname = "127.0.0.1";

/** What a peer does: it sends pieces, each after some milliseconds, and then closes, half-closes or says nothing more. */
export interface Peer {
  readonly pieces: readonly { readonly bytes: Uint8Array<ArrayBuffer>; readonly after: number }[];
  readonly ending: "close" | "half-close" | "silence";
}

/** Longer than the programs under test wait, and than the limits of the targets: a silent peer does not give up first. */
const PATIENCE_MS = 120_000;

/** Peers that send something like `good`, in pieces of any size. */
export function peerLike(good: fc.Arbitrary<Uint8Array<ArrayBuffer>>): fc.Arbitrary<Peer> {
  const text = hostileText.map((text) => new TextEncoder().encode(`${text}\n`));
  const message = fc.oneof(
    { weight: 4, arbitrary: good },
    { weight: 4, arbitrary: mutated(good) },
    { weight: 1, arbitrary: bytes(0, 100) },
    { weight: 1, arbitrary: text },
    { weight: 1, arbitrary: bytes(1).map(([byte]) => new Uint8Array(9000).fill(byte!)) },
  );
  const cuts = fc.array(fc.tuple(fc.nat(), fc.nat(20)), { maxLength: 4 });
  const ending = fc.constantFrom("close", "half-close", "silence");
  return fc.record({ message, cuts, ending }).map(({ message, cuts, ending }): Peer => {
    const places = cuts.map(([at, after]) => ({ at: at % (message.length + 1), after }))
      .sort((a, b) => a.at - b.at);
    const ends = [...places, { at: message.length, after: 0 }];
    const pieces = ends.map(({ at, after }, i) => ({
      bytes: message.slice(ends[i - 1]?.at ?? 0, at),
      after,
    }));
    return { pieces, ending };
  });
}

/** Acts as a peer on a connection, and reads what comes until the other side ends it. Errors are the other side's right. */
async function act({ pieces, ending }: Peer, conn: Deno.TcpConn): Promise<Uint8Array<ArrayBuffer>> {
  const read: number[] = [];
  const close = (): void => {
    try {
      conn.close();
    } catch {
      // It was closed before.
    }
  };
  const timer = setTimeout(close, PATIENCE_MS);
  try {
    for (const { bytes, after } of pieces) {
      if (after > 0) await new Promise((resolve) => setTimeout(resolve, after));
      for (let sent = 0; sent < bytes.length;) sent += await conn.write(bytes.subarray(sent));
    }
    if (ending === "half-close") await conn.closeWrite();
    const buffer = new Uint8Array(4096);
    while (ending !== "close") {
      const count = await conn.read(buffer);
      if (count === null) break;
      read.push(...buffer.subarray(0, count));
    }
  } catch {
    // The other side may end the conversation at any time.
  } finally {
    clearTimeout(timer);
    close();
  }
  return new Uint8Array(read);
}

/** Calls somebody who listens on a port. Returns what it read. */
export async function call(peer: Peer, port: number): Promise<Uint8Array<ArrayBuffer>> {
  return await act(peer, await Deno.connect({ hostname, port }));
}

/** Serves a program under test by a peer on a port of the peer's choice. */
export async function serve<T>(peer: Peer, use: (port: number) => Promise<T>): Promise<T> {
  using listener = Deno.listen({ hostname, port: 0 });
  void listener.accept().then((conn) => act(peer, conn), () => {});
  return await use(listener.addr.port);
}

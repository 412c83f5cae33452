import { connectRc, listenRc, type RcConn, type RcOptions } from "../../../net/mod.ts";
import { RXE } from "../setup.ts";

/** Two ends of one connection. */
export interface RcPair extends AsyncDisposable {
  readonly client: RcConn;
  readonly server: RcConn;
}

/** Connects two ends of this process over TCP. */
export async function rcPair(
  clientOptions: RcOptions = {},
  serverOptions: RcOptions = clientOptions,
): Promise<RcPair> {
  await using listener = await listenRc({ device: RXE, ...serverOptions });
  const accepted = listener.accept();
  const client = await connectRc({ device: RXE, tcpPort: listener.addr.port, ...clientOptions });
  const server = await accepted;
  return {
    client,
    server,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([client.close(), server.close()]);
    },
  };
}

export function bytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

export function text(message: Uint8Array | null): string | null {
  return message && new TextDecoder().decode(message);
}

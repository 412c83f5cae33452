import { connectRc, listenRc, type RcConn, type RcOptions } from "../../../net/mod.ts";
import { RXE } from "../setup.ts";

/** Two ends of one connection. */
export interface RcPair extends AsyncDisposable {
  readonly client: RcConn;
  readonly server: RcConn;
}

/** Only reached by what hangs; emulated guests are slow. */
export const connectTimeout = 30_000;

const COMMON = { device: RXE, connectTimeout, timeout: 19 };

/** Connects two ends of this process over TCP. */
export async function rcPair(
  clientOptions: RcOptions = {},
  serverOptions: RcOptions = clientOptions,
): Promise<RcPair> {
  await using listener = await listenRc({ ...COMMON, ...serverOptions });
  const tcpPort = listener.addr.port;
  const signal = AbortSignal.timeout(connectTimeout);
  const [client, server] = await Promise.all([
    connectRc({ ...COMMON, tcpPort, ...clientOptions }),
    listener.accept({ signal }),
  ]);
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

import {
  connectRc,
  listenRc,
  type RcAddress,
  type RcConn,
  type RcOptions,
} from "../../../net/mod.ts";
import { RXE } from "../setup.ts";

/** Two ends of one connection. */
export interface RcPair extends AsyncDisposable {
  readonly client: RcConn;
  readonly server: RcConn;
}

/** Only reached by what hangs; emulated guests are slow. */
export const connectTimeout = 30_000;

const COMMON = { device: RXE, connectTimeout, ackTimeout: 19 };

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

/** An address as of a peer, which does not exist unless its GID and its number do. */
export function peerAddress(gid: string = "::ffff:10.77.0.1", qpNum = 0xff_fff0): RcAddress {
  const numbers = { psn: 5, mtu: 1024, rdAtomic: 16, credits: 32, maxMessage: 1024 };
  return { transport: "RC", gid, lid: 0, qpNum, ...numbers };
}

export function bytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

export function text(message: Uint8Array | null): string | null {
  return message && new TextDecoder().decode(message);
}

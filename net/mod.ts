/**
 * Datagrams and connections over RDMA in a few lines, on top of the verbs of `@rdma/ibverbs`.
 *
 * {@linkcode listenUd} opens a socket for datagrams in the shape of `Deno.DatagramConn`. Its address is plain data: give
 * it to the peer by any means.
 *
 * ```ts
 * import { listenUd } from "@rdma/ibverbs/net";
 *
 * using server = await listenUd({ qkey: 0x1111_1111 });
 * using client = await listenUd({ qkey: 0x1111_1111 });
 * await client.send(new TextEncoder().encode("hello"), server.addr);
 * const [message, from] = await server.receive();
 * await server.send(message, from);
 * console.log(new TextDecoder().decode((await client.receive())[0]));
 * ```
 *
 * {@linkcode listenRc} and {@linkcode connectRc} make reliable connections with messages, web streams and remote memory.
 *
 * ```ts
 * import { connectRc, listenRc } from "@rdma/ibverbs/net";
 *
 * await using listener = await listenRc();
 * const accepted = listener.accept();
 * await using client = await connectRc({ tcpPort: listener.addr.port });
 * await using server = await accepted;
 * await client.send(new TextEncoder().encode("hello"));
 * console.log(new TextDecoder().decode((await server.receive())!));
 * ```
 *
 * It needs `--allow-ffi`. The exchange of addresses over TCP needs `--allow-net` as well.
 *
 * @module
 */

export { connectRc, type RcConnectOptions, type RcExchange } from "./rc/connect_rc.ts";
export {
  listenRc,
  RcListener,
  type RcListenerStats,
  type RcListenOptions,
} from "./rc/listen_rc.ts";
export type { RcAddress } from "./rc/rc_address.ts";
export { RcConn } from "./rc/rc_conn.ts";
export type { RcOptions } from "./rc/rc_options.ts";
export { ExposedMemory, type RemoteMemory } from "./rc/remote_memory.ts";

export type { WaitOptions } from "./shared/checks.ts";
export type { UdAddress } from "./ud/ud_address.ts";
export { listenUd, UdConn, type UdStats } from "./ud/ud_conn.ts";
export type { UdOptions } from "./ud/ud_options.ts";

/**
 * Datagrams and connections over RDMA, without verbs. The module is written on `@rdma/ibverbs`. It needs `--allow-ffi`.
 * Connections by address need librdmacm; the exchange of addresses over TCP needs `--allow-net`.
 *
 * **Datagrams.** `listenUd` opens a socket for datagrams, with `send`, `receive` and `for await` as
 * `Deno.DatagramConn` has them. A datagram is one packet. It can be lost. The address of a socket is plain data: give
 * it to the peer by any means, for instance as JSON. With the option `port` peers find it by the address of its host: `UdConn.lookup`. Both ends have the same qkey;
 * the device drops datagrams with another one.
 *
 * ```ts
 * import { listenUd } from "@rdma/ibverbs/net";
 *
 * using server = await listenUd();
 * using client = await listenUd();
 * await client.send(new TextEncoder().encode("hello"), server.addr);
 * const [message, from] = await server.receive();
 * await server.send(message, from);
 * console.log(new TextDecoder().decode((await client.receive())[0]));
 * ```
 *
 * It prints:
 *
 * ```text
 * hello
 * ```
 *
 * On Elastic Fabric Adapters `listenSrd` opens such a socket for reliable datagrams: each arrives once, in any order,
 * and `send()` reports whether it has.
 *
 * **Connections.** `listenRc` and `connectRc` make reliable connections. Messages arrive in order,
 * each once. With `port` the RDMA communication manager finds the peer by its name or IP address. With `tcpPort` the ends
 * exchange their addresses over TCP: that works without librdmacm, and within one host by 127.0.0.1. The messages go over
 * RDMA.
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
 * It prints the same:
 *
 * ```text
 * hello
 * ```
 *
 * By address it is:
 *
 * ```ts
 * import { connectRc, listenRc, type RcConn, type RcListener } from "@rdma/ibverbs/net";
 *
 * async function listen(): Promise<RcListener> {
 *   return await listenRc({ port: 7471 });
 * }
 *
 * async function connect(): Promise<RcConn> {
 *   return await connectRc({ hostname: "server", port: 7471 });
 * }
 * ```
 *
 * **Objects.** `listenUd()` and `listenSrd()` return a `UdConn`. `listenRc()` returns an `RcListener`, whose `accept()`
 * returns an `RcConn` for each peer; so does `connectRc()`. All of a program share the open device, which the last one
 * closes. Close them with `using`, `await using` or `close()`.
 *
 * **Where to go next.**
 *
 * - Options, such as the device or the depth of the queues: `UdOptions`, `SrdOptions`,
 *   `RcOptions`.
 * - Memory of the peer: `RcConn.expose` shares memory; `RcConn.write`, `RcConn.read`, `RcConn.fetchAndAdd` and
 *   `RcConn.compareAndSwap` use it. A write with a number notifies the peer: `RcConn.writes` yields the number.
 * - Streams: `RcConn.readable`,
 *   `RcConn.writable`.
 * - Addresses by other means: the option `exchange` of `connectRc`.
 *
 * @module
 */

import "./providers.ts";

export type { AbortOptions } from "../wait/abort.ts";
export { listenSrd } from "./efa/listen_srd.ts";
export type { SrdOptions } from "./efa/srd_options.ts";
export type { FabricOptions } from "./shared/fabric_options.ts";
export { BorrowedMessage } from "./shared/borrowed.ts";
export type { ReceiveOptions } from "./shared/receive_options.ts";
export {
  connectRc,
  type RcConnectByAddress,
  type RcConnectByExchange,
  type RcConnectByTcp,
  type RcConnectOptions,
  type RcExchange,
} from "./rc/connect_rc.ts";
export {
  listenRc,
  RcListener,
  type RcListenerStats,
  type RcListenOptions,
} from "./rc/listen_rc.ts";
export type { RcAddress } from "./rc/rc_address.ts";
export type { RcClosed, RcStats } from "./rc/link.ts";
export { RcConn, type RcWriteOptions } from "./rc/rc_conn.ts";
export type { RcOptions } from "./rc/rc_options.ts";
export { ExposedMemory } from "./rc/remote_memory.ts";
export { type RemoteMemory, VerbsError, WorkCompletionError } from "../mod.ts";
export type { LookupAddress, LookupOptions } from "./ud/lookup.ts";
export { CmError } from "../cm.ts";
export { BorrowedDatagram } from "./ud/borrowed_datagram.ts";
export type { UdAddress } from "./ud/ud_address.ts";
export { listenUd, UdConn, type UdStats } from "./ud/ud_conn.ts";
export type { JoinOptions, UdOptions } from "./ud/ud_options.ts";

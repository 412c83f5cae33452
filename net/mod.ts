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
 * @module
 */

export type { UdAddress } from "./ud_address.ts";
export { listenUd, UdConn, type UdOptions, type UdStats, type WaitOptions } from "./ud_conn.ts";

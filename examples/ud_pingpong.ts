/**
 * Sends a datagram back and forth and measures how long that takes. It has the options and the output of
 * `ibv_ud_pingpong` of rdma-core, and works with it as server and as client.
 *
 * @module
 */

import { runCli } from "@rdma/cli";

Deno.exitCode = await runCli(["pingpong", "ud", ...Deno.args]);

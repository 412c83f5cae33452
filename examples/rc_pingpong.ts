/**
 * Sends a message back and forth over a reliable connection (RC) and measures how long that takes. It has the options and
 * the output of `ibv_rc_pingpong` of rdma-core, and works with it as server and as client.
 *
 * @module
 */

import { runCli } from "@rdma/cli";

Deno.exitCode = await runCli(["pingpong", "rc", ...Deno.args]);

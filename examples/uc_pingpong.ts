/**
 * Sends a message back and forth over an unreliable connection (UC) and measures how long that takes. It has the options and
 * the output of `ibv_uc_pingpong` of rdma-core, and works with it as server and as client.
 *
 * @module
 */

import { runCli } from "@rdma/cli";

Deno.exitCode = await runCli(["pingpong", "uc", ...Deno.args]);

/**
 * Sends messages back and forth over several reliable connections (RC) that share a receive queue (SRQ), and measures how
 * long that takes. It has the options and the output of `ibv_srq_pingpong` of rdma-core, and works with it as server and
 * as client.
 *
 * @module
 */

import { runCli } from "@rdma/cli";

Deno.exitCode = await runCli(["pingpong", "srq", ...Deno.args]);

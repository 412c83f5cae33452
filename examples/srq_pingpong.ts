/**
 * Sends messages back and forth over several reliable connections (RC) that share a receive queue (SRQ), and measures how
 * long that takes. It has the options and the output of `ibv_srq_pingpong` of rdma-core, and works with it as server and
 * as client.
 *
 * @module
 */

import { runTool } from "./pingpong/run.ts";
import { SrqEndpoint } from "./pingpong/srq_endpoint.ts";
import { TOOLS } from "./pingpong/tools.ts";
import { run } from "./support/command_line.ts";

await run(
  "srq_pingpong",
  () =>
    runTool(
      TOOLS.srq_pingpong,
      Deno.args,
      (context, options) => new SrqEndpoint(context, options),
    ),
);

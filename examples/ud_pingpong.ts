/**
 * Sends a datagram back and forth and measures how long that takes. It has the options and the output of
 * `ibv_ud_pingpong` of rdma-core, and works with it as server and as client.
 *
 * @module
 */

import { runTool } from "./pingpong/run.ts";
import { TOOLS } from "./pingpong/tools.ts";
import { UdEndpoint } from "./pingpong/ud_endpoint.ts";
import { run } from "./support/command_line.ts";

await run(
  "ud_pingpong",
  () =>
    runTool(TOOLS.ud_pingpong, Deno.args, (context, options) => new UdEndpoint(context, options)),
);

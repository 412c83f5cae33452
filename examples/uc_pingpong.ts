/**
 * Sends a message back and forth over an unreliable connection (UC) and measures how long that takes. It has the options and
 * the output of `ibv_uc_pingpong` of rdma-core, and works with it as server and as client.
 *
 * @module
 */

import { QpType } from "@rdma/ibverbs";
import { ConnectedEndpoint } from "./pingpong/connected_endpoint.ts";
import { runTool } from "./pingpong/run.ts";
import { TOOLS } from "./pingpong/tools.ts";
import { run } from "./support/command_line.ts";

await run("uc_pingpong", () =>
  runTool(
    TOOLS.uc_pingpong,
    Deno.args,
    (context, options) => new ConnectedEndpoint(context, options, QpType.UC),
  ));

/**
 * Sends a message back and forth over a reliable connection (RC) and measures how long that takes. It has the options and
 * the output of `ibv_rc_pingpong` of rdma-core, and works with it as server and as client.
 *
 * @module
 */

import { QpType } from "@rdma/ibverbs";
import { ConnectedEndpoint } from "./pingpong/connected_endpoint.ts";
import { runTool } from "./pingpong/run.ts";
import { TOOLS } from "./pingpong/tools.ts";
import { run } from "./support/command_line.ts";

await run("rc_pingpong", () =>
  runTool(
    TOOLS.rc_pingpong,
    Deno.args,
    (context, options) => new ConnectedEndpoint(context, options, QpType.RC),
  ));

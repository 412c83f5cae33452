// Gives packets to an RSS queue pair of the stub HCA, which stands in for the mlx5 device of the documents.

import { assertMatch } from "@std/assert";
import { frameOf } from "../../frames.ts";
import { type Call, calls, ETHERNET_PORT, STUB, writeStub } from "../../stub.ts";
import type { Program } from "../../programs.ts";

/** What is different on the stub. */
export const CHANGES: readonly (readonly [string, string])[] = [
  ['"mlx5_0"', `"${STUB}"`],
  ["PORT = 1;", `PORT = ${ETHERNET_PORT};`],
];

/** Gives a packet to the queue pair of the flow rule, and ends the program when it has printed that. */
export default async function packets(program: Program): Promise<void> {
  while (!rule()) {
    if (program.ended) throw new Error("The program has ended without a flow rule");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const flow = { srcIp: "10.0.0.1", dstIp: "10.0.0.2", srcPort: 9 };
  const frame = frameOf({ ...flow, protocol: "udp", dstPort: 7000 });
  writeStub("packet", `${rule()!.qp} ${frame.toHex()}`);
  assertMatch(
    (await program.line())!,
    new RegExp(`^work queue \\d+ got ${frame.length} bytes$`),
  );
  await program.kill();

  function rule(): Call | undefined {
    return calls("create_flow").find(({ pid, ret }) => pid === program.pid && ret === 0);
  }
}

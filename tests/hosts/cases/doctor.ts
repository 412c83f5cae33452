/** What doctor says of the way between two hosts, which is healthy. */

import { assertEquals } from "@std/assert";
import { cli } from "../../../cli/tests/device/cli.ts";
import type { Ending } from "../../device/programs.ts";
import type { HostCase } from "../host_case.ts";

/** The status of a doctor whose peer does not listen yet. */
const NOBODY = 3;

function assertHealthy({ code, stdout, stderr }: Ending): void {
  const found = stdout.match(/^(healthy|warning|broken)(?=: )/gm);
  assertEquals([code, stderr, found], [0, "", ["healthy"]], stdout);
}

async function connect(): Promise<Ending> {
  while (true) {
    const ending = await cli("doctor", "--peer", "host1");
    if (ending.code !== NOBODY) return ending;
  }
}

export const doctor: HostCase = {
  name: "doctor has no finding",
  first: async () => assertHealthy(await cli("doctor", "--listen")),
  second: async () => assertHealthy(await connect()),
};

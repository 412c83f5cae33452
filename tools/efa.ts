/** Runs rdma-core's own tests of EFA, in a guest whose adapters the stub stands in for. */

import { ensurePackages } from "./host/setup.ts";
import { runInGuest } from "./guest/run.ts";
import { inProject } from "./host/paths.ts";
import { tool } from "./host/tool.ts";

const TESTS = "/usr/share/doc/rdma-core/tests";

const HELP = `Runs rdma-core's own tests of EFA in a guest, on the adapters of the stub HCA.

  deno task long efa

They are those of Debian's packages rdma-core and python3-pyverbs.
`;

await tool(HELP, {}, async () => {
  const reason = "the tests are written in Python";
  const pyverbs = "/usr/lib/python3/dist-packages/pyverbs/__init__.py";
  await ensurePackages([
    { package: "rdma-core", file: `${TESTS}/run_tests.py`, reason },
    { package: "python3-pyverbs", file: pyverbs, reason },
  ]);
  return await runInGuest(["sh", inProject("tools/efa/rdma_core_tests.sh"), TESTS], { stub: true });
});

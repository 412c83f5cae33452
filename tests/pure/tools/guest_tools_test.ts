// The small decisions of the tools: which tests run where, and what counts as a failure.

import { assertEquals, assertThrows } from "@std/assert";
import { SetupError } from "../../../tools/host/setup.ts";
import { countCases, failedCases } from "../../../tools/tests/junit.ts";
import { complaints } from "../../../tools/tests/kernel_log.ts";
import { plan } from "../../../tools/tests/plan.ts";

Deno.test("countCases() and failedCases() tell how tests and steps ended", () => {
  const report = `<testsuites tests="5">
    <testcase name="a &gt; b" time="1">
    </testcase>
    <testcase name="b"/>
    <testcase name="c"><skipped/></testcase>
    <testcase name="d() throws &quot;x&quot; &amp; &lt;y&gt;">
      <failure message="x &lt;skipped/&gt;">no</failure>
    </testcase>
    <testcase name="e"><error message="x"/></testcase>
  </testsuites>`;
  assertEquals(countCases(report), { passed: 2, failed: 2, ignored: 1 });
  assertEquals(failedCases(report), ['d() throws "x" & <y>', "e"]);
});

Deno.test("complaints() names faults and leaks that came after the command began", () => {
  const faults = [
    "[4.0] WARNING: CPU: 0 PID: 1 at drivers/infiniband/core/device.c:681",
    "[5.0] stub_hca: leaked 2 MRs",
  ];
  const log = [
    "[1.0] WARNING: in early boot",
    "[2.0] guest: the command starts",
    "[3.0] infiniband rxe0: set active",
    // What rxe says of references to destroyed objects is no fault.
    "[ 10.0] WARNING: CPU: 0 PID: 1 at drivers/infiniband/sw/rxe/rxe_pool.c:255 __rxe_cleanup+0x1",
    "[ 10.1] Call Trace:",
    "[ 10.2] ---[ end trace 0000000000000000 ]---",
    ...faults,
  ];
  assertEquals(complaints(log.join("\n")), faults);
});

Deno.test("plan() runs native tiers twice when both ways are asked for", () => {
  const passes = plan({ paths: [], both: true });
  assertEquals(passes.map(({ tier, env }) => `${tier} ${env.IBVERBS_THUNKS ?? ""}`), [
    "pure ",
    "library on",
    "library off",
    "device on",
    "device off",
    "project ",
  ]);
});

Deno.test("plan() runs only the tiers that given files belong to", () => {
  const paths = ["./tests/device/setup.ts", "tests/pure/tools/", "cli/tests/device"];
  assertEquals(plan({ paths, both: false }), [
    { tier: "pure", paths: ["tests/pure/tools"], env: {} },
    { tier: "device", paths: ["tests/device/setup.ts", "cli/tests/device"], env: {} },
  ]);
  const all = plan({ paths: [], both: false });
  assertEquals(plan({ paths: ["tests", "cli", "rxe/tests"], both: false }), all);
  assertEquals(all[0]!.paths, ["tests/pure", "cli/tests/pure", "rxe/tests/pure"]);
});

Deno.test("plan() throws when a file is in no tier, or needs two hosts", () => {
  for (const path of ["tests/devices/x_test.ts", "tests/hosts"]) {
    assertThrows(() => plan({ paths: [path], both: false }), SetupError, "it is in none of");
  }
  const paths = plan({ paths: [], both: true }).flatMap((pass) => pass.paths);
  assertEquals(paths.filter((path) => "tests/hosts".startsWith(path)), []);
});

// The example of RSS on the stub HCA, and on a device that cannot do it.
import { assertEquals, assertStringIncludes } from "@std/assert";
import { RXE } from "../setup.ts";
import { calls, STUB, stubTest } from "../stub.ts";

function runExample(...args: string[]): { code: number; stdout: string; stderr: string } {
  const { code, stdout, stderr } = new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-ffi", "--no-check", "--import-map=tools/std/import_map.json"]
      .concat("examples/rss_table.ts", args),
    cwd: new URL("../../../", import.meta.url).pathname,
    stdin: "null",
  }).outputSync();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

stubTest("rss_table.ts makes the table it shows on the first device that can do RSS", () => {
  const flow = "66.9.149.187:2794 > 161.142.100.80:1766 tcp";
  const { code, stdout, stderr } = runExample("--queues", "3", "--entries", "8", flow);
  assertEquals(code, 0, stderr);
  const wqs = calls("create_wq").map((call) => call.wq);
  assertEquals(wqs.length, 3);
  assertEquals(calls("modify_wq").map((call) => call.state), [1, 1, 1]);
  const [table, qp] = [calls("create_rwq_ind_table")[0]!, calls("create_qp")[0]!];
  assertEquals(table.wqs, Array.from({ length: 8 }, (_, entry) => wqs[entry % 3]));
  assertEquals([qp.table, qp.rx_hash_fields_mask], [table.table, 0xff]);
  assertStringIncludes(stdout, `RSS of ${STUB}`);
  assertStringIncludes(stdout, `entry 7  work queue ${wqs[1]}\n`);
  assertStringIncludes(stdout, `RSS queue pair ${qp.qp}\n`);
  // entry 0, of the published hash 51ccc178
  assertStringIncludes(stdout, `51ccc178     0 ${String(wqs[0]).padStart(5)}  ${flow}\n`);
});

stubTest("rss_table.ts says so when the device cannot do RSS", () => {
  const { code, stderr } = runExample("--device", RXE);
  assertEquals(code, 1);
  assertStringIncludes(stderr, "The device has no work queues");
});

// The example of RSS on the stub HCA, and on a device that cannot do it.
import { assertEquals, assertStringIncludes } from "@std/assert";
import { type Ending, startExample } from "../programs.ts";
import { RXE } from "../setup.ts";
import { calls, STUB, stubTest } from "../stub.ts";

async function runExample(...args: string[]): Promise<Ending> {
  await using program = startExample("rss_table", args, ["--allow-ffi"]);
  return await program.ending;
}

stubTest("rss_table.ts makes the table it shows on the first device that can do RSS", async () => {
  const flow = "66.9.149.187:2794 > 161.142.100.80:1766 tcp";
  const { code, stdout, stderr } = await runExample("--queues", "3", "--entries", "8", flow);
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

stubTest("rss_table.ts says so when the device cannot do RSS", async () => {
  const { code, stderr } = await runExample("--device", RXE);
  assertEquals(code, 1);
  assertStringIncludes(stderr, "The device has no work queues");
});

import { assertEquals, assertStringIncludes } from "@std/assert";
import { PORT, RXE, sysfs, udPair, until, waitFor } from "../../../tests/device/setup.ts";
import { STUB, stubTest, writeStub } from "../../../tests/device/stub.ts";
import { recorder } from "../pure/terminal.ts";
import { run } from "../../run.ts";
import { cliProcess } from "./cli.ts";

stubTest("watch counts the packets of a port", async () => {
  const recorded = recorder();
  const watching = run(["watch", "-d", RXE, "--json", "-n", "1", "-c", "2"], recorded.terminal);
  await until("the first sample", () => recorded.out.includes("\n"));
  await sendDatagram();
  assertEquals([await watching, recorded.err], [0, ""]);
  const [first, second, ...rest] = recorded.out.trimEnd().split("\n").map((line) =>
    JSON.parse(line)
  );
  assertEquals([first.device, first.port, first.state, rest], [RXE, PORT, "ACTIVE", []]);
  const sent = BigInt(second.counters.sent_pkts);
  assertEquals(sent, BigInt(sysfs(`ports/${PORT}/hw_counters/sent_pkts`)));
  assertEquals(sent - BigInt(first.counters.sent_pkts), 1n);
  assertEquals(second.rates.sent_pkts > 0, true);
});

async function sendDatagram(): Promise<void> {
  using pair = udPair();
  const { left, right, toRight } = pair;
  right.qp.postRecv({ sge: right.mr.sge(0, 100) });
  left.qp.postSend(toRight);
  for (const { cq } of [left, right]) await waitFor(cq);
}

stubTest("watch goes on after an event of the device, until SIGTERM", async () => {
  const recorded = recorder();
  const watching = run(["watch", "-d", STUB, "--json"], recorded.terminal);
  await until("the first sample", () => recorded.out.includes("\n"));
  writeStub("event", "DEVICE_FATAL");
  await until("the event", () => recorded.out.includes("DEVICE_FATAL"));
  Deno.kill(Deno.pid, "SIGTERM");
  assertEquals([await watching, recorded.err], [0, ""]);
});

stubTest("watch says that it may not read counters", async () => {
  const { stdout, stderr, code } = await cliProcess(["watch", "-d", RXE, "-c", "1"]);
  assertEquals(code, 0);
  assertStringIncludes(
    stderr,
    "watch: counters are left out: Deno opens /sys only to programs with",
  );
  assertStringIncludes(stdout, `${RXE}/${PORT} state ACTIVE`);
});

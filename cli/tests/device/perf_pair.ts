// perf measures between two processes, and both ends show it. The server is in the process of the test.
import { assert, assertEquals } from "@std/assert";
import { standIn } from "../../../tests/device/stand_in_device.ts";
import { type Ending, freshPort, untilListening } from "../../../tests/device/programs.ts";
import { deviceTest, RXE } from "../../../tests/device/setup.ts";
import { cli, startCli } from "./cli.ts";

// A device that is none of the system is that of another library.
const OTHER = standIn.device === undefined ? [] : ["--allow-env=IBVERBS_LIBRARY"];
const RIGHTS = ["--allow-ffi", "--allow-net", ...OTHER];

/** Runs a server, and a client in a process of its own. */
async function measure(
  server: readonly string[],
  client: readonly string[],
): Promise<[Ending, Ending]> {
  const port = `${freshPort()}`;
  const serving = cli("perf", "-d", RXE, "-p", port, ...server);
  await untilListening(Number(port));
  await using calling = startCli(["perf", "-d", RXE, "-p", port, ...client, "127.0.0.1"], RIGHTS);
  return await Promise.all([serving, calling.ending]);
}

/** Defines a test of a measurement: what kind of queue pairs does, with messages of so many bytes, and on how many. */
export function testPerf(kind: string, verb: string, size: number, queuePairs: number): void {
  deviceTest(
    `perf measures ${verb} of ${kind}, and both ends count the same messages`,
    async () => {
      const what = ["-c", kind, "--verb", verb, "-s", `${size}`, "-q", `${queuePairs}`];
      const args = [...what, "-n", "60", "--messages", "100", "--json"];
      const endings = await measure(["--json"], args);
      for (const [i, role] of ["server", "client"].entries()) {
        const { code, stderr, stdout } = endings[i]!;
        assertEquals([code, stderr], [0, ""]);
        const { latency, bandwidth, ...rest } = JSON.parse(stdout);
        assertEquals(rest, { role, kind, verb, size, queuePairs });
        assertEquals(bandwidth.sent, 100);
        // Only a reliable connection promises that all arrive.
        if (kind === "rc") assertEquals(bandwidth.received, 100);
        assert(bandwidth.received > 0 && bandwidth.mbitPerSecond > 0);
        // Who is read from knows no latency.
        assertEquals(latency === undefined, verb === "read" && role === "server");
        if (latency === undefined) continue;
        assertEquals(latency.count, role === "client" ? 60 : 59);
        const counts = latency.bars.map(({ count }: { count: number }) => count);
        assertEquals(counts.reduce((sum: number, count: number) => sum + count), latency.count);
        assert(latency.min > 0 && latency.percentiles.p50 <= latency.max);
      }
      const [server, client] = endings.map(({ stdout }) => JSON.parse(stdout).bandwidth);
      assertEquals(server, client);
    },
  );
}

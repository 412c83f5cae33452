import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { formatFlow, parseFlow } from "../../../examples/rss_table/flow.ts";
import { parseOptions } from "../../../examples/rss_table/options.ts";
import { UsageError } from "../../../examples/support/command_line.ts";
import { RxHashFields } from "../../../types/rss/rx_hash.ts";
import { microsoftRssKey } from "../../../types/rss/toeplitz.ts";
import { rssVectors } from "../rss/rss_vectors.ts";
import { runExample } from "./run_example.ts";

Deno.test("parseFlow() reads what formatFlow() writes", () => {
  for (
    const text of [
      "10.0.0.1:1234 > 10.0.0.2:80 tcp",
      "[fd00::1]:53 > [fd00::2]:65535 udp",
      "10.0.0.1 > 10.0.0.2",
      "10.0.0.1:1 > 10.0.0.2:2",
      "fd00::1 > fd00::2",
    ]
  ) assertEquals(formatFlow(parseFlow(text)), text);
});

Deno.test("parseFlow() takes apart addresses, ports and protocol", () => {
  assertEquals(parseFlow("  [::1]:7 >[fe80::2]:9   UDP "), {
    source: "::1",
    destination: "fe80::2",
    protocol: "udp",
    sourcePort: 7,
    destinationPort: 9,
  });
});

Deno.test("parseFlow() refuses what is no flow", () => {
  for (
    const text of [
      "",
      "10.0.0.1",
      "10.0.0.1 > ",
      "10.0.0.1:65536 > 10.0.0.2:1 tcp",
      "10.0.0.1 > 10.0.0.2 tcp",
      "10.0.0 > 10.0.0.2",
      "[::1 > ::2",
      "10.0.0.1:1 > 10.0.0.2:2 sctp",
    ]
  ) assertThrows(() => parseFlow(text), UsageError, `"${text}"`);
});

Deno.test("parseOptions() takes a table that holds all queues", () => {
  const sizes = ["1", "2", "3", "4", "5", "8192"].map((queues) =>
    parseOptions(["--queues", queues]).entries
  );
  assertEquals(sizes, [1, 2, 4, 4, 8, 8192]);
});

Deno.test("parseOptions() takes fields by their names", () => {
  const mask = (fields: string): number =>
    parseOptions(["--fields", fields]).rxHash.rxHashFieldsMask;
  assertEquals(mask("ipv4,ipv6,tcp,udp"), 0xff);
  assertEquals(mask("src-ipv4, DST_PORT_TCP"), RxHashFields.SRC_IPV4 | RxHashFields.DST_PORT_TCP);
});

Deno.test("parseOptions() takes Microsoft's key unless another is given", () => {
  assertEquals(parseOptions([]).rxHash.rxHashKey, microsoftRssKey());
  assertEquals(parseOptions(["--key", "ab".repeat(40)]).rxHash.rxHashKey[39], 0xab);
});

Deno.test("rss_table.ts --predict tells the published hashes and their queues", async () => {
  const flows = rssVectors.map((vector) => formatFlow({ ...vector, protocol: "tcp" }));
  const [code, text] = await runExample(["rss_table", "--predict", "--queues", "16", ...flows]);
  assertEquals(code, 0, text);
  for (const [i, { all }] of rssVectors.entries()) {
    const hash = all.toString(16).padStart(8, "0");
    const entry = String(all & 15).padStart(5);
    assertStringIncludes(text, `${hash} ${entry} ${entry}  ${flows[i]}\n`);
  }
});

Deno.test("rss_table.ts --predict reads flows from standard input, and counts them by queue", async () => {
  const input = "# a comment\n\n10.0.0.1 > 10.0.0.2\n10.0.0.1 > 10.0.0.2\n";
  const [, text] = await runExample(["rss_table", "--predict", "--queues", "2"], input);
  assertStringIncludes(text, "02b7c9b1     1     1  10.0.0.1 > 10.0.0.2\n");
  const spread = `    0      0   0.0%\n    1      2 100.0% ${"#".repeat(40)}\n`;
  assertStringIncludes(text, spread);
});

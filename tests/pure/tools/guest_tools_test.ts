// The small decisions of the tools: which accelerator, what the shell reads, what counts as a
// failure.

import { assertEquals, assertGreater, assertThrows } from "@std/assert";
import { assignments } from "../../../rxe/guest/initramfs.ts";
import { accelerators } from "../../../rxe/guest/qemu.ts";
import { Copy, Held, lines } from "../../../rxe/guest/streams.ts";
import { parseStatus } from "../../../rxe/host/apt.ts";
import { SetupError } from "../../../rxe/host/report.ts";
import { countCases, failedCases } from "../../../tools/tests/junit.ts";
import { complaints } from "../../../tools/tests/kernel_log.ts";
import { plan } from "../../../tools/tests/plan.ts";

Deno.test("accelerators() tries kvm first when it is usable and the processor has virtualization", () => {
  const of = (flags: string, usable: boolean): string[] =>
    accelerators(`flags\t\t: fpu ${flags} sse\n`, usable);
  assertEquals([of("vmx", true), of("sse svm", true)], [["kvm", "tcg"], ["kvm", "tcg"]]);
  assertEquals([of("vmx", false), of("vmmcall", true)], [["tcg"], ["tcg"]]);
});

Deno.test("assignments() gives the shell the very values when they hold quotes and line ends", async () => {
  const value = `it's "$HOME" \\ two\nlines`;
  const script = `${assignments({ VALUE: value })}printf %s "$VALUE"`;
  const { stdout } = await new Deno.Command("sh", { args: ["-c", script] }).output();
  assertEquals(new TextDecoder().decode(stdout), value);
});

function streamOf(...pieces: string[]): ReadableStream<Uint8Array<ArrayBuffer>> {
  return ReadableStream.from(pieces.map((piece) => new TextEncoder().encode(piece)));
}

Deno.test("lines() joins what arrives in pieces", async () => {
  const found = await Array.fromAsync(lines(streamOf("rea", "dy\nexit 0 1", " 2\nen")));
  assertEquals(found, ["ready", "exit 0 1 2"]);
});

Deno.test("Copy.reached() waits for all bytes, and Held keeps them until it is released", async () => {
  let shown = "";
  const sink = {
    write: (bytes: Uint8Array): Promise<number> => {
      const taken = bytes.subarray(0, 2);
      shown += new TextDecoder().decode(taken);
      return Promise.resolve(taken.length);
    },
  };
  await new Copy(streamOf("abcde", "fg"), sink).reached(7);
  assertEquals(shown, "abcdefg");
  const held = new Held();
  await new Copy(streamOf("hij", "kl"), held).reached(5);
  assertEquals(shown, "abcdefg");
  await held.release(sink);
  await held.write(new TextEncoder().encode("m"));
  assertEquals(shown, "abcdefghijklm");
});

Deno.test("parseStatus() reads the last line when a piece of output has several", () => {
  const output = "pmstatus:a:10.4:Unpacking a (amd64)\npmstatus:libb:amd64:55.6:Installing b\npmst";
  assertEquals(parseStatus(output), "installation 56 %, Installing b");
  assertEquals(parseStatus("Reading package lists...\n"), undefined);
});

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

Deno.test("plan() runs tests of what is written on the public API once, unless they are asked for", () => {
  const device = (paths: string[]): string[] =>
    plan({ paths, both: true }).filter(({ tier }) => tier === "device").at(-1)!.paths;
  assertEquals(device([]).filter((file) => file.startsWith("tests/device/net/")), []);
  assertGreater(device([]).length, 40);
  assertEquals(device(["tests/device/net"]), ["tests/device/net"]);
});

Deno.test("plan() runs only the tiers that given files belong to", () => {
  const paths = ["./tests/device/setup.ts", "tests/pure/tools/"];
  assertEquals(plan({ paths, both: false }), [
    { tier: "pure", paths: ["tests/pure/tools"], env: {} },
    { tier: "device", paths: ["tests/device/setup.ts"], env: {} },
  ]);
  assertEquals(plan({ paths: ["tests"], both: false }), plan({ paths: [], both: false }));
});

Deno.test("plan() leaves out devices and long tests for a quick run", () => {
  const passes = plan({ paths: [], both: false, quick: true });
  assertEquals(passes.map(({ tier }) => tier), ["pure", "library"]);
  const files = passes.flatMap(({ paths }) => paths);
  assertGreater(files.length, 100);
  assertEquals(files.filter((file) => file.includes("misuse")), []);
});

Deno.test("plan() throws when a file is in no tier, or needs two hosts", () => {
  for (const path of ["tests/devices/x_test.ts", "tests/hosts"]) {
    assertThrows(() => plan({ paths: [path], both: false }), SetupError, "it is in none of");
  }
  const paths = plan({ paths: [], both: true }).flatMap((pass) => pass.paths);
  assertEquals(paths.filter((path) => "tests/hosts".startsWith(path)), []);
});

// The output and the status of devices and devinfo, compared with those of the C tools.
import { assertEquals, assertStringIncludes } from "@std/assert";
import { listDevices } from "../../../mod.ts";
import type { Ending } from "../../../tests/device/programs.ts";
import { addDevice, addDummy } from "../../../tests/device/links.ts";
import { RXE } from "../../../tests/device/setup.ts";
import { STUB, stubTest } from "../../../tests/device/stub.ts";
import { cli, cliProcess, tool } from "./cli.ts";

/** Lines without blanks at their ends. */
function trimmed({ stdout }: Ending): string {
  return stdout.replaceAll(/[ \t]+$/gm, "");
}

stubTest("devices prints what ibv_devices prints, in the same order", async () => {
  await using stack = new AsyncDisposableStack();
  assertEquals(listDevices().map(({ name }) => name), [RXE, STUB]);
  await addDummy(stack, "third");
  // The kernel lists it after the stub, and a folder of sysfs before.
  await addDevice(stack, "a_third", "third");
  const ours = await cliProcess(["devices"]);
  const theirs = await tool("ibv_devices", []);
  assertEquals([trimmed(ours), ours.stderr, ours.code], [trimmed(theirs), "", 0]);
  assertStringIncludes(ours.stdout, RXE);
  // libibverbs keeps the list of a process and puts at its start what came later.
  assertEquals(listDevices().map(({ name }) => name), ["a_third", RXE, STUB]);
});

for (
  const args of [
    [],
    ["-v"],
    ["-l"],
    ["--list", "--verbose"],
    ["-v", "-d", RXE],
    ["-d", STUB, "-i", "2"],
    ["--ib-dev", STUB, "--ib-port=1", "--verbose"],
    ["-i", "2"],
    ["-i", "0"],
    ["-d", RXE, "-i", "7"],
    ["-d", "none"],
    ["-d"],
    ["--nothing"],
  ]
) {
  stubTest(
    `devinfo ${args.join(" ")} prints what ibv_devinfo prints, and has its status`,
    async () => {
      const ours = await cli("devinfo", ...args);
      const theirs = await tool("ibv_devinfo", args);
      assertEquals(ours.code, theirs.code);
      // For a wrong option the C tool prints its help.
      if (!theirs.stdout.startsWith("Usage")) assertEquals(trimmed(ours), trimmed(theirs));
      assertEquals(ours.stderr === "", theirs.stderr === "" && theirs.code === 0);
    },
  );
}

stubTest("devinfo needs no right but that to call libibverbs", async () => {
  const ours = await cliProcess(["devinfo", "-v"]);
  const theirs = await tool("ibv_devinfo", ["-v"]);
  assertEquals([trimmed(ours), ours.stderr], [trimmed(theirs), ""]);
  const refused = await cliProcess(["devinfo"], []);
  assertEquals([refused.stdout, refused.code], ["", 1]);
  assertStringIncludes(refused.stderr, "devinfo: ");
  assertEquals(refused.stderr.split("\n").length, 2);
});

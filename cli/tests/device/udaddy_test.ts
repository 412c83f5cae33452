// The command udaddy with udaddy of rdmacm-utils, in both roles, over IPv4 and IPv6.
import { assertEquals, assertStringIncludes } from "@std/assert";
import { cli, tool } from "./cli.ts";
import { type Ending, start } from "../../../tests/device/programs.ts";
import { deviceTest } from "../../../tests/device/setup.ts";
import { HOSTS } from "../../../tests/device/cm/cm_device.ts";

const COUNT = "7";
const SIZE = "96";
const TALK = ["-C", COUNT, "-S", SIZE];
const SUMMARY = `${COUNT} datagrams of ${SIZE} bytes there, and as many back\n`;

/** Each test has its own, because a port is in use for a while afterwards; the C tool has only one. */
let port = 18_600;

/** Runs a client as soon as a server listens. */
async function clientOf(client: () => Promise<Ending>): Promise<Ending> {
  while (true) {
    const ending = await client();
    const { stdout, stderr } = ending;
    const isEarly = /nobody listens on this port|RDMA_CM_EVENT_UNREACHABLE/.test(stderr + stdout);
    if (!isEarly) return ending;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

for (const [family, host] of Object.entries(HOSTS)) {
  deviceTest(`udaddy serves the udaddy of rdmacm-utils over ${family}`, async () => {
    const serving = cli("udaddy", ...TALK);
    const client = await clientOf(() => tool("udaddy", ["-s", host, ...TALK]));
    assertStringIncludes(client.stdout, "data transfers complete\ntest complete\nreturn status 0");
    assertEquals(await serving, { code: 0, signal: null, stdout: SUMMARY, stderr: "" });
  });

  deviceTest(`udaddy is a client of the udaddy of rdmacm-utils over ${family}`, async () => {
    await using peer = start("udaddy", "-b", host, ...TALK);
    const client = await clientOf(() => cli("udaddy", ...TALK, host));
    assertEquals(client, { code: 0, signal: null, stdout: SUMMARY, stderr: "" });
    const { stdout } = await peer.ending;
    assertStringIncludes(stdout, "data transfers complete\ntest complete\nreturn status 0");
  });
}

deviceTest("udaddy is its own peer, with as many and as large datagrams as can be", async () => {
  const p = `${++port}`;
  const most = ["-p", p, "-C", "1000", "-S", "1024", "--json"];
  const serving = cli("udaddy", ...most);
  const client = await clientOf(() => cli("udaddy", ...most, HOSTS.IPv4));
  const ends = [await serving, client].map(({ stdout }) => JSON.parse(stdout));
  const talk = { count: 1000, size: 1024 };
  assertEquals(ends, [{ role: "server", ...talk }, { role: "client", ...talk }]);
});

deviceTest("udaddy says that nobody listens", async () => {
  const { code, stderr } = await cli("udaddy", "-p", `${++port}`, HOSTS.IPv4);
  assertEquals(code, 1);
  assertStringIncludes(stderr, "nobody listens on this port");
});

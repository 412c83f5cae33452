// Datagrams by address in one guest, also with udaddy of rdmacm-utils, in both roles.
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { listenUd, type UdConn, type UdOptions } from "../../../net/mod.ts";
import { Context, Gid } from "../../../mod.ts";
import { HOSTS } from "../cm/cm_device.ts";
import { start } from "../programs.ts";
import { deviceTest, PORT, RXE } from "../setup.ts";
import { bytes, text } from "./rc_pair.ts";

const { ConnectionRefused } = Deno.errors;
/** That of udaddy. */
const UDADDY_PORT = 7174;
const [COUNT, SIZE] = [7, 96];
const TALK = ["-C", `${COUNT}`, "-S", `${SIZE}`];
const COMPLETE = "data transfers complete\ntest complete\nreturn status 0";
/** A program that is being started takes its time. */
const patient = { retryInterval: 50, timeout: 60_000 };
const soon = (): { signal: AbortSignal } => ({ signal: AbortSignal.timeout(20_000) });

/** A connection from an address of the device. */
async function open(hostname: string, options: UdOptions = {}): Promise<UdConn> {
  return await listenUd({ device: RXE, gidIndex: indexOf(hostname), ...options });
}

function indexOf(hostname: string): number {
  using context = Context.open(RXE);
  const gid = Gid.parse(hostname);
  return context.queryGidTable(PORT).find((entry) => entry.gid.equals(gid))!.gidIndex;
}

for (const [family, hostname] of Object.entries(HOSTS)) {
  deviceTest(
    `UdConn.lookup() finds a connection by its ${family} address, which answers`,
    async () => {
      await using server = await open(hostname, { port: 0 });
      await using client = await open(hostname);
      const { port, maxMessage } = server;
      const found = await client.lookup({ hostname, port: port! }, soon());
      const { gid, qpNum, qkey } = server.addr;
      assertEquals(found, { transport: "UD", gid, lid: 0, qpNum, qkey, maxMessage });
      for (let i = 0; i < 8; i++) {
        await client.send(bytes(`hello ${i}`), found);
        const [message, from] = await server.receive(soon());
        await server.send(message, from);
        assertEquals(text((await client.receive(soon()))[0]), `hello ${i}`);
      }
    },
  );

  deviceTest(`udaddy finds a connection by its ${family} address`, async () => {
    await using server = await open(hostname, { port: UDADDY_PORT });
    await using peer = start("udaddy", "-s", hostname, ...TALK);
    for (let i = 0; i < COUNT; i++) {
      const [message, from] = await server.receive(soon());
      assertEquals(message.length, SIZE);
      await server.send(message, from);
    }
    const { stdout, code } = await peer.ending;
    assertEquals(code, 0, stdout);
    assertStringIncludes(stdout, COMPLETE);
  });

  deviceTest(`UdConn.lookup() finds udaddy by its ${family} address, which answers`, async () => {
    await using peer = start("udaddy", "-b", hostname, ...TALK);
    await using client = await open(hostname);
    const found = await client.lookup({ hostname, port: UDADDY_PORT }, patient);
    assertEquals(found.maxMessage, undefined);
    for (let i = 0; i < COUNT; i++) await client.send(new Uint8Array(SIZE), found);
    for (let i = 0; i < COUNT; i++) {
      assertEquals((await client.receive(soon()))[0].length, SIZE);
    }
    const { stdout, code } = await peer.ending;
    assertEquals(code, 0, stdout);
    assertStringIncludes(stdout, COMPLETE);
  });
}

deviceTest("UdConn.lookup() tells that nobody listens, and a port has one listener", async () => {
  await using client = await open(HOSTS.IPv4);
  await using server = await open(HOSTS.IPv4, { port: 0 });
  const port = server.port!;
  await assertRejects(
    () => open(HOSTS.IPv4, { port }),
    Deno.errors.AddrInUse,
    `uses port ${port} `,
  );
  await server[Symbol.asyncDispose]();
  const nobody = client.lookup({ hostname: HOSTS.IPv4, port }, soon());
  await assertRejects(() => nobody, ConnectionRefused, "nobody listens on this port");
});

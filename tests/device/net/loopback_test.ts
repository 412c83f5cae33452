// A soft-RoCE device on the loopback interface reaches programs of this host, and says so.
import { assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { CmId, EventChannel, PortSpace } from "../../../cm.ts";
import { Context, VerbsError } from "../../../mod.ts";
import { connectRc, listenRc, listenUd } from "../../../net/mod.ts";
import { HOSTS } from "../cm/cm_device.ts";
import { addDevice } from "../links.ts";
import { deviceTest, PORT, QKEY, until } from "../setup.ts";
import { bytes, connectTimeout, text } from "./rc_pair.ts";

const DEVICE = "rxe_loopback";
const LOOPBACK = "is a loopback address, by which Linux's connection manager does not connect";

async function addLoopback(stack: AsyncDisposableStack): Promise<void> {
  await addDevice(stack, DEVICE, "lo");
  const isThere = (): boolean => {
    using context = Context.open(DEVICE);
    return context.queryGidTable(PORT).some(({ gid }) => gid.toString() === "::ffff:127.0.0.1");
  };
  await until("the GID of 127.0.0.1", isThere);
}

deviceTest("A device on the loopback interface is known to reach this host only", async () => {
  await using stack = new AsyncDisposableStack();
  await addLoopback(stack);
  using context = Context.open(DEVICE);
  const { gid, reach, reason } = context.recommendGid(PORT);
  assertEquals([gid.toString(), reach], ["::ffff:127.0.0.1", "host"]);
  assertMatch(reason, /it reaches this host only/);
  await using conn = await listenUd({ device: DEVICE, qkey: QKEY });
  const words = "reaches this host only";
  await assertRejects(() => conn.join("239.1.2.3"), Deno.errors.NotSupported, words);
});

deviceTest("RC connects over the loopback interface by TCP, and not by address", async () => {
  await using stack = new AsyncDisposableStack();
  await addLoopback(stack);
  const own = { device: DEVICE, hostname: "127.0.0.1", connectTimeout };
  {
    await using listener = await listenRc({ ...own, tcpPort: 0 });
    const { port: tcpPort } = listener.addr;
    const connecting = connectRc({ ...own, tcpPort });
    await using server = await listener.accept();
    await using client = await connecting;
    await client.send(bytes("hello"));
    assertEquals(text(await server.receive()), "hello");
  }
  for (const hostname of ["127.0.0.1", "::1", "localhost"]) {
    const connected = (): Promise<unknown> => connectRc({ hostname, port: 7471, connectTimeout });
    await assertRejects(connected, Deno.errors.AddrNotAvailable, LOOPBACK);
    const listening = (): Promise<unknown> => listenRc({ hostname, port: 0 });
    await assertRejects(listening, Deno.errors.AddrNotAvailable, "it is a loopback address");
  }
});

deviceTest("CmId.bindAddr() takes a link-local address with its network interface only", () => {
  using context = Context.open();
  const entry = context.queryGidTable(PORT).find(({ gid }) => gid.isLinkLocal)!;
  const hostname = `${entry.gid}`;
  using channel = new EventChannel();
  for (
    const address of [{ hostname, scopeId: entry.ndevIfindex }, {
      hostname: `${hostname}%${entry.ndevIfindex}`,
    }]
  ) {
    using id = new CmId(channel, PortSpace.UDP);
    id.bindAddr({ ...address, port: 0 });
    assertEquals([id.localAddr!.scopeId, id.portNum], [entry.ndevIfindex, PORT]);
  }
  using id = new CmId(channel);
  const refused = (hostname: string, words: string): unknown =>
    assertThrows(() => id.bindAddr({ hostname, port: 0 }), VerbsError, words);
  refused(hostname, "reaches one link only, and does not say which");
  refused(`::ffff:${HOSTS.IPv4}`, `give ${HOSTS.IPv4}`);
});

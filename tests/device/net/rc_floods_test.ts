// What partners of a listener cost that want no connection. The library tests have more of them.
import { assertEquals } from "@std/assert";
import { connectRc, listenRc, type RcAddress, type RcListener } from "../../../net/mod.ts";
import { Context } from "../../../mod.ts";
import { countOf, deviceTest, gidOf, openRxe, RXE, until } from "../setup.ts";
import { bytes, connectTimeout, peerAddress, text } from "./rc_pair.ts";

/** An address of this host, and of no queue pair: whoever names it stays silent after the handshake. */
function silentAddress(): RcAddress {
  using context = openRxe();
  return peerAddress(gidOf(context, "ipv4").gid.toString());
}

async function dial(listener: RcListener, address: RcAddress): Promise<Deno.TcpConn> {
  const tcp = await Deno.connect({ hostname: "127.0.0.1", port: listener.addr.port });
  await tcp.write(bytes(`${JSON.stringify(address)}\n`));
  return tcp;
}

/** How many devices this process has open. */
function openDevices(): number {
  const targets = [...Deno.readDirSync("/proc/self/fd")].map(({ name }) => {
    try {
      return Deno.readLinkSync(`/proc/self/fd/${name}`);
    } catch {
      return "";
    }
  });
  return targets.filter((target) => target.includes("uverbs")).length;
}

/** A client that wants a connection gets one. */
async function assertServes(listener: RcListener): Promise<void> {
  const tcpPort = listener.addr.port;
  const accepted = listener.accept({ signal: AbortSignal.timeout(connectTimeout) });
  await using client = await connectRc({ device: RXE, tcpPort, connectTimeout });
  await using server = await accepted;
  await client.send(bytes("served"));
  assertEquals(text(await server.receive()), "served");
}

deviceTest(
  "RcListener opens the device once for 20 partners that are silent afterwards",
  async () => {
    const address = silentAddress();
    const before = openDevices();
    await using listener = await listenRc({ device: RXE, connectTimeout: 60_000, timeout: 20 });
    await using stack = new AsyncDisposableStack();
    let longest = 0;
    let last = performance.now();
    const ticking = setInterval(() => {
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }, 1);
    stack.defer(() => clearInterval(ticking));
    const [domains, queuePairs] = [countOf("pd"), countOf("qp")];
    for (let i = 0; i < 20; i++) stack.use(await dial(listener, address));
    await until("all queue pairs", () => countOf("qp") === queuePairs + 20);
    assertEquals([openDevices() - before, countOf("pd") - domains], [1, 1]);
    if (Deno.env.has("IBVERBS_NET_FIGURES")) {
      const start = performance.now();
      Context.open(RXE).close();
      console.log({ longest, open: performance.now() - start });
    }
    await assertServes(listener);
    assertEquals(openDevices() - before, 1);
    listener.close();
  },
);

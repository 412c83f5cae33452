// What partners of a listener cost that want no connection. The library tests have more of them.
import { assertEquals } from "@std/assert";
import { connectRc, listenRc } from "../../../net/mod.ts";
import { countOf, deviceTest, gidOf, openRxe, RXE, until } from "../setup.ts";
import { bytes, connectTimeout, peerAddress, text } from "./rc_pair.ts";

/** The line of an address of this host, and of no queue pair: whoever names it stays silent after the handshake. */
function silentLine(): Uint8Array {
  using context = openRxe();
  return bytes(`${JSON.stringify(peerAddress(gidOf(context, "ipv4").gid.toString()))}\n`);
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

deviceTest(
  "RcListener opens the device once for 20 partners that are silent afterwards",
  async () => {
    const line = silentLine();
    const before = openDevices();
    await using listener = await listenRc({ device: RXE, connectTimeout: 60_000, timeout: 20 });
    await using stack = new AsyncDisposableStack();
    const [domains, queuePairs] = [countOf("pd"), countOf("qp")];
    const tcpPort = listener.addr.port;
    for (let i = 0; i < 20; i++) {
      await stack.use(await Deno.connect({ port: tcpPort })).write(line);
    }
    await until("all queue pairs", () => countOf("qp") === queuePairs + 20);
    assertEquals([openDevices() - before, countOf("pd") - domains], [1, 1]);
    const accepted = listener.accept({ signal: AbortSignal.timeout(connectTimeout) });
    await using client = await connectRc({ device: RXE, tcpPort, connectTimeout });
    await using server = await accepted;
    await client.send(bytes("served"));
    assertEquals(text(await server.receive()), "served");
    // The client opens it as well.
    assertEquals(openDevices() - before, 2);
  },
);

import { assertEquals } from "@std/assert";
import { listenUd, type UdConn } from "../../../net/mod.ts";
import { deviceTest } from "../setup.ts";
import { twinLink } from "./twin_link.ts";

const QKEY = 0x1111_1111;
const patience = (): { signal: AbortSignal } => ({ signal: AbortSignal.timeout(20_000) });

for (
  const [family, group, address] of [
    ["IPv4", "::ffff:239.1.2.4", "239.1.2.4/32"],
    ["IPv6", "ff0e::77", "ff0e::77/128"],
  ] as const
) {
  deviceTest(
    `UdConn.join() on the device only receives datagrams of an ${family} group, and answers`,
    async () => {
      await using link = await twinLink();
      const open = async (device: string): Promise<UdConn> => {
        const gidIndex = link.gidIndex(device, family === "IPv4");
        return await listenUd({ device, qkey: QKEY, gidIndex });
      };
      await using sender = await open(link.devices[0]);
      await using member = await open(link.devices[1]);
      await using other = await open(link.devices[1]);
      await link.listen(address);
      const target = await member.join(group, { deviceOnly: true });
      await sender.send(Uint8Array.of(1), JSON.parse(JSON.stringify(target)));
      const [message, from] = await member.receive(patience());
      assertEquals([message, from.gid], [Uint8Array.of(1), sender.addr.gid]);
      // The packet was sent to the group, so its reply needs the address of the sender alone.
      await member.send(Uint8Array.of(2), from);
      const [reply, peer] = await sender.receive(patience());
      assertEquals([reply, peer.qpNum], [Uint8Array.of(2), member.addr.qpNum]);
      member.leave(group);
      await sender.send(Uint8Array.of(3), target);
      await sender.send(Uint8Array.of(4), member.addr);
      assertEquals((await member.receive(patience()))[0], Uint8Array.of(4));
      assertEquals(other.stats.received, 0);
    },
  );
}

// Connections and groups with programs that use librdmacm, in both roles, over IPv4 and IPv6.
import { start } from "../programs.ts";
import { deviceTest } from "../setup.ts";
import { CmDevice, HOSTS } from "./cm_device.ts";
import {
  accepted,
  assertEndsWell,
  beClient,
  beServer,
  connected,
  end,
  listenFor,
  mckey,
  Member,
  rping,
  TALKS,
  timeOfEnd,
} from "./peers.ts";

/** Ports of servers. Each test has its own, because a port is in use for a while afterwards. */
let ports = 18_000;

for (const [name, talk] of Object.entries(TALKS)) {
  for (const [family, hostname] of Object.entries(HOSTS)) {
    deviceTest(`CmId connects to the server of ${name} over ${family}`, async () => {
      using bed = new CmDevice();
      const port = talk.port ?? ++ports;
      await using peer = start(...talk.server(hostname, `${port}`));
      await beClient(bed, { hostname, port }, talk, () => peer.ended);
      await assertEndsWell(peer);
    });

    deviceTest(`CmId accepts the client of ${name} over ${family}`, async () => {
      using bed = new CmDevice();
      using listener = listenFor(bed, talk, hostname);
      await using peer = start(...talk.client(hostname, `${listener.srcPort}`));
      await beServer(bed, talk);
      await assertEndsWell(peer);
    });
  }
}

deviceTest("CmId sends to a group and receives from it as mckey does", async () => {
  using bed = new CmDevice();
  using member = await Member.join(bed, HOSTS.IPv4);
  await using sender = start(...mckey(HOSTS.IPv4, "sender"));
  await member.receive();
  await assertEndsWell(sender);
  await using receiver = start(...mckey(HOSTS.IPv4, "receiver"));
  await member.sendUntil(() => receiver.ended);
  await assertEndsWell(receiver);
});

for (const [family, hostname] of Object.entries(HOSTS)) {
  for (const role of ["server", "client"] as const) {
    deviceTest(
      `The ${role} of rping is told when CmId ends the connection over ${family}`,
      async () => {
        using bed = new CmDevice();
        using listener = role === "client" ? bed.listener(undefined, hostname) : undefined;
        const at = { hostname, port: listener?.srcPort ?? ++ports };
        await using peer = start(...rping(role, at));
        const id = listener ? await accepted(bed) : await connected(bed, at, () => peer.ended);
        const told = timeOfEnd(peer, role);
        await end(id);
        console.log(`  after ${await told} ms`);
      },
    );
  }
}

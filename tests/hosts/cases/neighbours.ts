/** The kernel finds the link addresses of peers by asking the network. */

import { assert, assertEquals } from "@std/assert";
import { AddressHandle, Gid } from "../../../mod.ts";
import { gidOf, PORT } from "../../device/setup.ts";
import type { HostCase, Run } from "../host_case.ts";
import {
  addAddress,
  familyOf,
  forgetNeighbours,
  ipOf,
  knowsNeighbour,
  removeAddress,
} from "../network.ts";
import { answerTo, payloadOf, UdEnd, type UdPlace } from "../ud_end.ts";

/** Addresses of the second host that the first one has not seen before. */
const UNSEEN = ["10.0.0.41", "fd00::41"];

async function resolveUnseen(run: Run): Promise<void> {
  using end = new UdEnd(run);
  const { qpn } = await run.session.swap<UdPlace>(end.place("ipv4"));
  for (const address of UNSEEN) {
    await run.session.receive();
    const from = gidOf(end.context, familyOf(address));
    const dgid = Gid.parse(address);
    for (const make of ["create", "constructor", "create"]) {
      // A question of the peer makes it known again at any time.
      while (knowsNeighbour(address)) await forgetNeighbours();
      const attr = { portNum: PORT, grh: { dgid, sgidIndex: from.gidIndex } };
      using ah = make === "create"
        ? await AddressHandle.createAsync(end.pd, attr)
        : new AddressHandle(end.pd, attr);
      assert(knowsNeighbour(address), address);
      const target = { ah, qpn, src: ipOf(from.gid), dst: address, trafficClass: 0 };
      for (let i = 0; i < run.messages; i++) {
        await end.send(target, payloadOf(i));
        assertEquals((await end.receive()).payload, answerTo(payloadOf(i)));
      }
    }
    await run.session.send("done");
  }
}

async function appear(run: Run): Promise<void> {
  using end = new UdEnd(run);
  await run.session.swap(end.place("ipv4"));
  for (const address of UNSEEN) {
    await addAddress(end.context, address);
    await run.session.send("there");
    const dst = ipOf(gidOf(end.context, familyOf(address)).gid).replace(/2$/, "1");
    for (let i = 0; i < 3 * run.messages; i++) {
      const { wc, grh, payload } = await end.receive();
      using ah = await AddressHandle.fromWcAsync(end.pd, PORT, wc, grh);
      const target = { ah, qpn: wc.srcQp, src: address, dst, trafficClass: 0 };
      await end.send(target, answerTo(payload));
    }
    await run.session.receive();
    await removeAddress(end.context, address);
  }
}

/** The library tests have peers that are not there. */
export const neighbours: readonly HostCase[] = [
  {
    name: "AddressHandle.createAsync() and the constructor find the link address of an unseen peer",
    first: resolveUnseen,
    second: appear,
  },
];

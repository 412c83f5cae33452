import { assertEquals } from "@std/assert";
import { AddressHandle, initAhFromWc, type WorkCompletion } from "../../../mod.ts";
import { completion } from "../pure/packets.ts";
import {
  gidOf,
  PORT,
  QKEY,
  RXE,
  selfAddress,
  udPair,
  waitFor,
} from "../../../tests/device/setup.ts";
import { IB_LID, STUB, stubTest } from "../../../tests/device/stub.ts";
import { cli } from "./cli.ts";

async function explained(...args: string[]): Promise<Record<string, Record<string, unknown>>> {
  const { stdout, stderr, code } = await cli("explain", "--json", ...args);
  assertEquals([stderr, code], ["", 0]);
  return JSON.parse(stdout);
}

for (const family of ["ipv4", "ipv6", "link-local"] as const) {
  stubTest(
    `explain gives the address of initAhFromWc() for a datagram over ${family}`,
    async () => {
      using pair = udPair();
      const { context, pd, left, right } = pair;
      right.qp.postRecv({ sge: right.mr.slice(0, 100) });
      using ah = new AddressHandle(pd, selfAddress(context, family));
      left.qp.postSend({
        sge: left.mr.slice(0, 4),
        ah,
        remoteQpn: right.qp.qpNum,
        remoteQkey: QKEY,
      });
      const [wc] = await waitFor(right.cq);
      await waitFor(left.cq);
      const grh = right.mr.grhAt(0);
      const attr = initAhFromWc(context, PORT, wc!, grh);
      const { reply } = await explained("-d", RXE, nativeOf(wc!), grh.bytes.toHex());
      assertEquals(reply, {
        device: RXE,
        portNum: PORT,
        dgid: attr.grh.dgid.toString(),
        sgidIndex: gidOf(context, family).gidIndex,
        hopLimit: attr.grh.hopLimit,
        trafficClass: attr.grh.trafficClass,
        flowLabel: attr.grh.flowLabel,
        dlid: attr.dlid,
        sl: attr.sl,
        srcPathBits: attr.srcPathBits,
        remoteQpn: left.qp.qpNum,
        remoteQkey: null,
      });
    },
  );
}

/** The completion as native code has it. */
function nativeOf({ wcFlags, srcQp }: WorkCompletion): string {
  const bytes = Uint8Array.fromHex(completion({ wcFlags }));
  const view = new DataView(bytes.buffer);
  view.setUint32(32, srcQp, true);
  view.setUint8(44, 0);
  return bytes.toHex();
}

stubTest("explain gives a LID where a packet has no GRH", async () => {
  const { reply } = await explained("-d", STUB, completion({ wcFlags: 0, slid: IB_LID }));
  assertEquals([reply!.device, reply!.dlid, reply!.sl], [STUB, IB_LID, 3]);
});

// What a refused queue pair, transition or group names as its cause, from what the device reports.

import * as recorder from "../../provider/recorder.ts";
import { assertEquals, assertThrows } from "@std/assert";
import {
  CompletionQueue,
  type Context,
  Gid,
  LinkLayer,
  Mtu,
  PortState,
  ProtectionDomain,
  type QpModifyAttr,
  QpState,
  QpType,
  QueuePair,
  VerbsError,
} from "../../../mod.ts";
import { onContext } from "../recorded.ts";

const dgid = Gid.parse("::ffff:10.0.0.2");
const [LOCAL, GROUP] = [Gid.parse("::ffff:10.0.0.1"), Gid.parse("ff0e::1")];

function newQp(context: Context, type: QpType, cap = {}): QueuePair {
  const cq = new CompletionQueue(context, { cqe: 8 });
  const pd = new ProtectionDomain(context);
  return new QueuePair(pd, {
    ...{ qpType: type, sendCq: cq, recvCq: cq },
    cap: { maxSendWr: 4, maxRecvWr: 4, ...cap },
  });
}

/** A port of RoCE with 2 P_Keys and an MTU of 1024 bytes, on a device that serves 4 reads. */
function answer(more: Record<string, number> = {}): void {
  const port = { link_layer: LinkLayer.ETHERNET, active_mtu: Mtu[1024], pkey_tbl_len: 2 };
  recorder.answer("ibv_query_port", {
    ...{ ...port, state: PortState.ACTIVE, gid_tbl_len: 4 },
    ...more,
  });
  recorder.answer("ibv_query_device", { max_qp_init_rd_atom: 4, max_qp_rd_atom: 4 });
}

type Code = Parameters<typeof recorder.fail>[1];

/** A refused change of a queue pair that is in INIT, its errno, and the cause. */
const CHANGES: Readonly<Record<string, [attr: QpModifyAttr, code: Code, cause: string]>> = {
  "an address without GRH": [
    { ahAttr: { portNum: 1, dlid: 1 } },
    "EINVAL",
    "Port 1 is Ethernet (RoCE), where every address needs a GRH: give grh",
  ],
  "a GID index beyond the table": [
    { ahAttr: { portNum: 1, grh: { dgid, sgidIndex: 9 } } },
    "EINVAL",
    "GID index 9 is beyond the port's table of 4",
  ],
  "an empty slot of the GID table": [
    { ahAttr: { portNum: 1, grh: { dgid, sgidIndex: 3 } } },
    "ENODATA",
    "Slot 3 of the GID table is empty",
  ],
  "a peer that is absent": [
    { ahAttr: { portNum: 1, grh: { dgid, sgidIndex: 0 } } },
    "ETIMEDOUT",
    "The peer's link address was not resolved in time: is the peer up, and on this network?",
  ],
  "a peer without a route": [
    { ahAttr: { portNum: 1, grh: { dgid: "10.0.0.2", sgidIndex: 0 } } },
    "ENETUNREACH",
    "There is no route from GID index 0 to ::ffff:10.0.0.2",
  ],
  "more reads than the device has": [
    { maxRdAtomic: 5 },
    "EINVAL",
    "maxRdAtomic 5 is too large: the device allows up to 4",
  ],
  "more reads than the device serves": [
    { maxDestRdAtomic: 9 },
    "EINVAL",
    "maxDestRdAtomic 9 is too large: the device allows up to 4",
  ],
  "a P_Key index beyond the table": [
    { portNum: 1, pkeyIndex: 2 },
    "EINVAL",
    "pkeyIndex 2 is too large: the P_Key table of the port has 2 entries",
  ],
  "a P_Key index beyond the table of the other path": [
    { portNum: 1, pkeyIndex: 1, altPortNum: 1, altPkeyIndex: 3 },
    "EINVAL",
    "altPkeyIndex 3 is too large: the P_Key table of the port has 2 entries",
  ],
  "an address of the other path without GRH": [
    {
      ahAttr: { portNum: 1, grh: { dgid, sgidIndex: 1 } },
      altAhAttr: { portNum: 1, dlid: 1 },
    },
    "EINVAL",
    "Port 1 is Ethernet (RoCE), where every address needs a GRH: give grh",
  ],
  "an MTU above that of the port": [
    { portNum: 1, pathMtu: Mtu[4096] },
    "EINVAL",
    "pathMtu 4096 is above the active MTU of the port, 1024",
  ],
};

for (const [what, [attr, code, cause]] of Object.entries(CHANGES)) {
  onContext.test(`QueuePair.modify() names the cause: ${what}`, (context) => {
    answer();
    const qp = newQp(context, QpType.RC);
    recorder.fail("ibv_modify_qp", code);
    const error = assertThrows(() => qp.modify(attr), VerbsError);
    assertEquals([error.code, error.hint?.startsWith(cause)], [code, true], error.message);
  });
}

for (const code of ["ENETUNREACH", "ETIMEDOUT", "ENODATA"] as const) {
  onContext.test(`A link that is down is the cause of ${code}`, (context) => {
    answer({ state: PortState.DOWN });
    const qp = newQp(context, QpType.RC);
    recorder.fail("ibv_modify_qp", code);
    const error = assertThrows(
      () => qp.modify({ ahAttr: { portNum: 1, grh: { dgid, sgidIndex: 0 } } }),
      VerbsError,
    );
    assertEquals(error.hint, "Port 1 of recorder0 is DOWN: nothing is sent while its link is down");
  });
}

const PEER = {
  ...{ transport: "RC", qpNum: 5, psn: 6, lid: 1, gid: `${dgid}`, mtu: 1024 } as const,
  ...{ rdAtomic: 1, qkey: null },
};

onContext.test("QueuePair.init() without gidIndex leads to the cause", (context) => {
  answer();
  const qp = newQp(context, QpType.RC);
  qp.init({ portNum: 1 });
  const cause = "gidIndex is missing, and every address of port 1 needs a GID";
  assertThrows(() => qp.address, TypeError, cause);
  assertThrows(() => qp.activateRc(PEER), TypeError, cause);
});

onContext.test("activateRc() refuses an MTU that a port of the path does not have", (context) => {
  answer();
  const qp = newQp(context, QpType.RC);
  qp.init({ portNum: 1, gidIndex: 0 });
  const refused = (pathMtu: Mtu, mtu: number): void => {
    assertThrows(
      () => qp.activateRc({ ...PEER, mtu }, { pathMtu }),
      RangeError,
      `Cannot use pathMtu ${pathMtu}: the ports of both ends allow 1 to `,
    );
  };
  refused(Mtu[2048], 4096);
  refused(Mtu[1024], 512);
});

onContext.test("activateRc() asks the device if a port that is down gives no MTU", (context) => {
  answer({ state: PortState.DOWN, active_mtu: 0 });
  const qp = newQp(context, QpType.RC);
  qp.init({ portNum: 1, gidIndex: 0 });
  recorder.fail("ibv_modify_qp", "ENETUNREACH");
  assertThrows(() => qp.activateRc(PEER), VerbsError, "Port 1 of recorder0 is DOWN");
});

onContext.test("INIT of a RAW_PACKET queue pair names the port that is not Ethernet", (context) => {
  answer({ link_layer: LinkLayer.INFINIBAND });
  const qp = newQp(context, QpType.RAW_PACKET);
  recorder.fail("ibv_modify_qp", "EINVAL");
  assertThrows(
    () => qp.modify({ qpState: QpState.INIT, portNum: 1 }),
    VerbsError,
    "RAW_PACKET needs an Ethernet port, and port 1 is none",
  );
});

onContext.test("RTS of an RSS queue pair without a send queue fails with a hint that it stays in RTR", (context) => {
  const qp = newQp(context, QpType.RAW_PACKET);
  recorder.fail("ibv_modify_qp", "EOPNOTSUPP");
  const refused = (): void => qp.modify({ qpState: QpState.RTS });
  assertThrows(refused, VerbsError, "only receives: it stays in RTR");
});

onContext.test("QueuePair.address refuses an empty slot of the GID table", (context) => {
  answer();
  const qp = newQp(context, QpType.RC);
  qp.init({ portNum: 1, gidIndex: 3 });
  assertThrows(() => qp.address, TypeError, "GID index 3 of port 1 is empty");
});

onContext.test("A queue pair that is refused names inline data as a cause", (context) => {
  recorder.answer("ibv_query_device", { max_qp_wr: 100, max_sge: 8, max_qp: 5 });
  recorder.fail("ibv_create_qp", "EINVAL");
  const refused = (): QueuePair => newQp(context, QpType.RC, { maxInlineData: 5000 });
  assertThrows(refused, VerbsError, "cap.maxInlineData 5000 may be too large");
});

const { ETHERNET, INFINIBAND } = LinkLayer;
/** Groups that cannot be joined, and the cause. */
const GROUPS: Readonly<Record<string, [type: QpType, gid: Gid, link: LinkLayer, cause: string]>> = {
  "a connection": [QpType.RC, GROUP, ETHERNET, "Only queue pairs of type UD"],
  "a unicast GID": [QpType.UD, LOCAL, ETHERNET, `${LOCAL} is no multicast GID`],
  "LID 0 on InfiniBand": [QpType.UD, GROUP, INFINIBAND, "has a LID from 0xc000 on"],
};

for (const [what, [type, gid, link, cause]] of Object.entries(GROUPS)) {
  onContext.test(`attachMcast() names the cause: ${what}`, (context) => {
    answer({ link_layer: link });
    const qp = newQp(context, type);
    recorder.fail("ibv_attach_mcast", "EINVAL");
    assertThrows(() => qp.attachMcast(gid), VerbsError, cause);
  });
}

onContext.test("detachMcast() names the cause: a group that was not joined", (context) => {
  const qp = newQp(context, QpType.UD);
  recorder.fail("ibv_detach_mcast", "EINVAL");
  assertThrows(() => qp.detachMcast(GROUP), VerbsError, "has not joined this group");
});

onContext.test("A lack of memory has no limit for its cause", (context) => {
  answer();
  const qp = newQp(context, QpType.RC);
  recorder.fail("ibv_modify_qp", "ENOMEM");
  const changed = (): void => qp.modify({ portNum: 1, pkeyIndex: 2, maxRdAtomic: 5 });
  assertEquals(assertThrows(changed, VerbsError).hint, undefined);
  recorder.answer("ibv_query_device", { max_qp_wr: 4, max_sge: 8, max_cqe: 8 });
  recorder.fail("ibv_create_qp", "ENOMEM");
  const { hint = "" } = assertThrows(() => newQp(context, QpType.RC), VerbsError);
  assertEquals(hint.includes("too large: the device"), false, hint);
  const more = (): QueuePair => newQp(context, QpType.RC, { maxSendWr: 5 });
  assertThrows(more, VerbsError, "cap.maxSendWr 5 is too large: the device allows up to 4");
});

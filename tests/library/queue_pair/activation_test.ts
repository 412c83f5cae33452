// The way from RESET to RTS, and the address that peers send each other.
import * as recorder from "../../provider/recorder.ts";
import { assertEquals, assertThrows } from "@std/assert";
import {
  AccessFlags,
  AddressHandle,
  Gid,
  LinkLayer,
  Mtu,
  PortFlags,
  type QpAddress,
  QpState,
  QpType,
  type QueuePair,
} from "../../../mod.ts";
import { RecorderObjects } from "../../provider/objects.ts";
import type { Fields, RecordedStruct } from "../../provider/records.ts";
import { testsOn } from "../recorded.ts";
import { assertRefused, bad } from "../refusals.ts";

const { RC, UC, UD } = QpType;

const PEER: QpAddress = {
  transport: "RC",
  qpNum: 0x123456,
  psn: 0xabcdef,
  lid: 7,
  gid: "fe80::1",
  mtu: 2048,
  rdAtomic: 4,
  qkey: null,
};

interface Made extends Disposable {
  readonly qp: QueuePair;
}

function make(type: QpType, port: Fields = {}): Made {
  const fixture = new RecorderObjects();
  recorder.answer("ibv_query_port", { active_mtu: Mtu[4096], lid: 5, ...port } as never);
  recorder.answer("ibv_query_device", { max_qp_rd_atom: 16, max_qp_init_rd_atom: 8 });
  recorder.answerBytes("ibv_query_gid", Gid.parse("10.0.0.5").bytes);
  const qp = fixture.qp(type);
  recorder.take();
  return { qp, [Symbol.dispose]: () => fixture[Symbol.dispose]() };
}

const onUd = testsOn(() => make(UD));

const onUc = testsOn(() => make(UC));

const onRc = testsOn(() => make(RC));

/** What each modification since the last look has set: the mask, and the fields. */
function modifications(): { mask: number; fields: Fields }[] {
  return recorder.takeOf("ibv_modify_qp").map(({ args }) => ({
    mask: args.attr_mask as number,
    fields: (args.attr as RecordedStruct).fields,
  }));
}

onRc.test("QueuePair.activateRc() fills in every attribute that RC needs", ({ qp }) => {
  const qpAccessFlags = AccessFlags.REMOTE_WRITE;
  qp.init({ portNum: 1, gidIndex: 3, pkeyIndex: 2, qpAccessFlags, psn: 0x55 });
  qp.activateRc(PEER);
  assertEquals(qp.state, QpState.RTS);
  const [init, rtr, rts] = modifications();
  assertEquals([init!.mask, rtr!.mask, rts!.mask], [0x39, 0x121181 | 0x8000, 0x12e01]);
  const { fields: { qp_state, port_num, pkey_index, qp_access_flags } } = init!;
  assertEquals([qp_state, port_num, pkey_index, qp_access_flags], [1, 1, 2, qpAccessFlags]);
  const names = ["path_mtu", "dest_qp_num", "rq_psn", "max_dest_rd_atomic", "min_rnr_timer"];
  // The smaller MTU is that of the peer.
  assertEquals(names.map((name) => rtr!.fields[name]), [Mtu[2048], 0x123456, 0xabcdef, 16, 12]);
  const path = ["dlid", "port_num", "is_global", "grh.sgid_index", "grh.hop_limit"];
  assertEquals(path.map((name) => rtr!.fields[`ah_attr.${name}`]), [7, 1, 1, 3, 64]);
  const dgid = rtr!.fields["ah_attr.grh.dgid"] as Uint8Array;
  assertEquals(new Gid(dgid).toString(), "fe80::1");
  const last = ["sq_psn", "timeout", "retry_cnt", "rnr_retry", "max_rd_atomic"];
  // The device allows 8 outstanding reads, and the peer serves 4.
  assertEquals(last.map((name) => rts!.fields[name]), [0x55, 14, 6, 7, 4]);
});

onUc.test("QueuePair.activateUc() sets what UC has, and nothing of RC", ({ qp }) => {
  recorder.answer("ibv_query_port", { link_layer: LinkLayer.INFINIBAND, active_mtu: Mtu[4096] });
  qp.init({ portNum: 1, psn: 9 });
  qp.activateUc({ ...PEER, transport: "UC", gid: null });
  const [, rtr, rts] = modifications();
  assertEquals([rtr!.mask, rts!.mask], [0x101181, 0x10001]);
  assertEquals([rtr!.fields["ah_attr.is_global"], rtr!.fields["ah_attr.dlid"]], [0, 7]);
  assertEquals(rts!.fields.sq_psn, 9);
  assertThrows(() => qp.activateUc(PEER), TypeError, 'the transport of the peer is "RC"');
  assertThrows(() => qp.activateUc(PEER, bad({ timeout: 1 })), TypeError, '"timeout"');
});

onRc.test("QueuePair.address is a JSON value that a peer can use", ({ qp }) => {
  qp.init({ portNum: 1, gidIndex: 3, psn: 77 });
  assertEquals(qp.address, {
    transport: "RC",
    qpNum: qp.qpNum,
    psn: 77,
    lid: 5,
    gid: "::ffff:10.0.0.5",
    mtu: 4096,
    rdAtomic: 16,
    qkey: null,
  });
  const parsed = JSON.parse(JSON.stringify(qp.address));
  assertEquals(parsed, { ...qp.address });
  qp.activateRc(parsed);
  assertEquals(qp.state, QpState.RTS);
});

onUd.test("QueuePair.ahAttr() makes the address handle of a peer from its address", ({ qp }) => {
  const peer: QpAddress = { ...PEER, transport: "UD", qkey: 5 };
  assertThrows(() => qp.ahAttr(peer), TypeError, "activateUd() was not called");
  qp.activateUd({ portNum: 1, qkey: 1, gidIndex: 3 });
  using _ah = new AddressHandle(qp.pd, qp.ahAttr(JSON.parse(JSON.stringify(peer)), { sl: 2 }));
  const { fields } = recorder.takeOne("ibv_create_ah").args.attr as RecordedStruct;
  const { dlid, sl, is_global, port_num, "grh.sgid_index": index } = fields;
  assertEquals([dlid, sl, is_global, port_num, index], [7, 2, 1, 1, 3]);
  assertRefused(
    [() => qp.ahAttr(PEER), TypeError, 'the transport of the peer is "RC", and "UD" is needed'],
    [() => qp.ahAttr({ ...peer, gid: null }), TypeError, "the peer has no GID"],
    [() => qp.ahAttr(peer, { timeout: 1 } as object), TypeError, "timeout"],
  );
});

Deno.test("QueuePair.address names a GID that is missing on RoCE and where the port requires it", () => {
  const ports: Fields[] = [
    { link_layer: LinkLayer.ETHERNET },
    { link_layer: LinkLayer.INFINIBAND, flags: PortFlags.GRH_REQUIRED },
  ];
  for (const port of ports) {
    using made = make(RC, port);
    made.qp.init({ portNum: 1 });
    assertThrows(() => made.qp.address, TypeError, "recommendGid(1).gidIndex names one");
  }
  using made = make(RC, { link_layer: LinkLayer.INFINIBAND });
  made.qp.init({ portNum: 1 });
  assertEquals(made.qp.address.gid, null);
});

onRc.test("The activations refuse what is wrong before the queue pair is modified", ({ qp }) => {
  const early = "init() or activateUd() was not called";
  assertRefused(
    [() => qp.address, TypeError, early],
    [() => qp.activateRc(PEER), TypeError, early],
    [() => qp.init({ portNum: 9 }), RangeError, "Cannot use portNum 9"],
    [() => qp.init({ qpAccessFlags: 1 } as never), TypeError, "portNum is missing"],
    [() => qp.init({ portNum: 1, qkey: 1 }), TypeError, "the type of the queue pair is RC"],
    [() => qp.activateUd({ portNum: 1, qkey: 1 }), TypeError, "activateUd()"],
    [() => qp.activateUc(PEER), TypeError, "activateUc()"],
  );
  qp.init({ portNum: 1, gidIndex: 0 });
  const peer = (attr: object) => () => qp.activateRc({ ...PEER, ...attr });
  assertRefused(
    [peer({ transport: "UD" }), TypeError, '"RC" is needed'],
    [peer({ gid: "nonsense" }), SyntaxError, "nonsense"],
    [peer({ gid: null }), TypeError, "the peer has no GID"],
    [peer({ mtu: 100 }), RangeError, "mtu of the peer"],
  );
});

onRc.test("QueuePair.init() leaves the choices of a queue pair that the device refuses", (made) => {
  const { qp } = made;
  recorder.fail("ibv_modify_qp", "EINVAL", { times: 1 });
  assertThrows(() => qp.init({ portNum: 1 }), Error, "EINVAL");
  assertThrows(() => qp.address, TypeError, "was not called");
});

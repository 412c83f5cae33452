import { assertEquals } from "@std/assert";
import { capabilityLines, deviceLines } from "../../devinfo/device_lines.ts";
import { portLines, type ShownPort } from "../../devinfo/port_lines.ts";
import { namesLines } from "../../devinfo.ts";
import {
  AtomicCap,
  type DeviceAttr,
  type DeviceAttrEx,
  type PortAttr,
  TransportType,
} from "../../../mod.ts";
import { ATTR, ATTR_EX, GIDS, INFO, PORT_ATTR } from "./fake_device.ts";

const VERBOSE = Deno.readTextFileSync(new URL("ibv_devinfo_v.txt", import.meta.url));
const FLAG = "\t".repeat(5);

function capabilities(attr: Partial<DeviceAttr>, more: Partial<DeviceAttrEx> = {}): string[] {
  return capabilityLines({ ...ATTR_EX, ...more, origAttr: { ...ATTR, ...attr } }, 4);
}

function port(attr: Partial<PortAttr>, more: Partial<ShownPort> = {}): string[] {
  const shown = { number: 1, gids: GIDS, transportType: 0 as const, speed: undefined, ...more };
  return portLines({ ...shown, attr: { ...PORT_ATTR, ...attr } }, true);
}

/** The lines that one list has and another one has not. Lines may repeat. */
function added(before: string[], after: string[]): string[] {
  const left = [...before];
  return after.filter((line) => {
    const at = left.indexOf(line);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

Deno.test("devinfo prints each attribute as ibv_devinfo -v does", () => {
  const lines = [
    ...deviceLines({ info: INFO, attr: ATTR_EX, boardId: "MT_0000000008" }),
    ...capabilities({}),
    ...port({}),
  ];
  assertEquals(`${lines.join("\n")}\n`, VERBOSE);
});

Deno.test("devinfo leaves out what the device does not have", () => {
  const lines = deviceLines({
    info: { ...INFO, transportType: -1 as never },
    attr: { ...ATTR_EX, origAttr: { ...ATTR, fwVer: "", vendorPartId: 0xffff_ffff } },
    boardId: undefined,
  });
  assertEquals(lines.slice(1, 3), [
    "\ttransport:\t\t\tinvalid transport (-1)",
    "\tnode_guid:\t\t\t0102:0304:0506:0708",
  ]);
  assertEquals(lines.slice(5), [
    "\tvendor_part_id:\t\t\t-1",
    "\thw_ver:\t\t\t\t0xAB",
    "\tphys_port_cnt:\t\t\t1",
  ]);
  const [all, few] = [capabilities({}), capabilities({ maxFmr: 0, maxSrq: 0 })];
  assertEquals(added(few, all), [
    "\tmax_fmr:\t\t\t23",
    "\tmax_map_per_fmr:\t\t24",
    "\tmax_srq:\t\t\t25",
    "\tmax_srq_wr:\t\t\t26",
    "\tmax_srq_sge:\t\t\t27",
  ]);
  assertEquals(added(all, few), ["\tmax_fmr:\t\t\t0", "\tmax_srq:\t\t\t0"]);
});

Deno.test("devinfo names each transport and each kind of atomic operations", () => {
  const transports = Object.values(TransportType).map((transportType) => {
    const info = { ...INFO, transportType };
    return deviceLines({ info, attr: ATTR_EX, boardId: undefined })[1]!.split("\t").at(-1);
  });
  assertEquals(transports, [
    ...["invalid transport (-1)", "InfiniBand (0)", "iWARP (1)", "usNIC (2)", "usNIC UDP (3)"],
    "unspecified (4)",
  ]);
  for (const [name, atomicCap] of Object.entries(AtomicCap)) {
    const line = capabilities({ atomicCap }).find((line) => line.includes("atomic_cap:"))!;
    assertEquals(line.split("\t").at(-1), `ATOMIC_${name} (${atomicCap})`);
  }
});

Deno.test("devinfo names the flags it knows and counts the others together", () => {
  const shown = (attr: Partial<DeviceAttr>, more: Partial<DeviceAttrEx> = {}): string[] =>
    added(capabilities({}), capabilities(attr, more));
  const flags = shown({ deviceCapFlags: -1 });
  assertEquals(flags[0], "\tdevice_cap_flags:\t\t0xffffffff");
  assertEquals([flags[1], flags[24], flags[25], flags.length], [
    `${FLAG}RESIZE_MAX_WR`,
    `${FLAG}MANAGED_FLOW_STEERING`,
    `${FLAG}Unknown flags: 0xD8498000`,
    26,
  ]);
  assertEquals(shown({}, { deviceCapFlagsEx: 0xffff_ffff_ffff_ffffn }), [
    "\tdevice_cap_flags_ex:\t\t0xFFFFFFFFFFFFFFFF",
    `${FLAG}RAW_SCATTER_FCS`,
    `${FLAG}PCI_WRITE_END_PADDING`,
    `${FLAG}CC_DMA_BOUNCE`,
    `${FLAG}Unknown flags: 0xFFFFFDEB00000000`,
  ]);
  assertEquals(shown({}, { rawPacketCaps: 0x81 }), [
    "\traw packet caps:",
    `${FLAG}C-VLAN stripping offload`,
  ]);
  const perTransportCaps = { rcOdpCaps: 0x60, ucOdpCaps: 0x140, udOdpCaps: 0 };
  assertEquals(shown({}, { odpCaps: { generalCaps: 0xffn, perTransportCaps } }), [
    `${FLAG}ODP_SUPPORT`,
    `${FLAG}ODP_SUPPORT_IMPLICIT`,
    `${FLAG}Unknown flags: 0xFC`,
    `${FLAG}SUPPORT_SRQ`,
    `${FLAG}SUPPORT_FLUSH`,
    `${FLAG}SUPPORT_FLUSH`,
    `${FLAG}Unknown flags: 0x100`,
  ]);
});

Deno.test("devinfo prints the extensions that a device has", () => {
  const extended = capabilities({}, {
    completionTimestampMask: 0xffffn,
    hcaCoreClock: 3n,
    tsoCaps: { maxTso: -1, supportedQpts: 0xffff },
    packetPacingCaps: { qpRateLimitMin: 5, qpRateLimitMax: 7, supportedQpts: 0 },
    tmCaps: { maxRndvHdrSize: 4, maxNumTags: 7, flags: 3, maxOps: 8, maxSge: 9 },
    cqModCaps: { maxCqCount: 3, maxCqPeriod: 4 },
    maxDmSize: 55n,
  });
  assertEquals(added(capabilities({}), extended), [
    "\tcompletion timestamp_mask:\t\t\t0x000000000000ffff",
    "\thca_core_clock:\t\t\t3kHZ",
    "\t\tmax_tso:\t\t\t-1",
    "\t\tsupported_qp:",
    `${FLAG}SUPPORT_RAW_PACKET`,
    `${FLAG}SUPPORT_UD`,
    `${FLAG}Unknown flags: 0xFEEF`,
    "\t\tqp_rate_limit_min:\t5kbps",
    "\t\tqp_rate_limit_max:\t7kbps",
    "\t\tsupported_qp:",
    "\tmax_rndv_hdr_size:\t\t4",
    "\tmax_num_tags:\t\t\t7",
    "\tmax_ops:\t\t\t8",
    "\tmax_sge:\t\t\t9",
    "\tflags:",
    `${FLAG}IBV_TM_CAP_RC`,
    "",
    "\tcq moderation caps:",
    "\t\tmax_cq_count:\t3",
    "\t\tmax_cq_period:\t4 us",
    "",
    "\tmaximum available device memory:\t55Bytes",
    "",
  ]);
  for (const cqModCaps of [{ maxCqCount: 3, maxCqPeriod: 0 }, { maxCqCount: 0, maxCqPeriod: 4 }]) {
    assertEquals(capabilities({}, { cqModCaps }), capabilities({}));
  }
});

Deno.test("devinfo says which codes of a port it does not know", () => {
  const unknown = { state: 0, maxMtu: 6, maxVlNum: 0, activeWidth: 32, activeSpeed: 255 };
  const shown = port({ ...unknown, physState: 8, linkLayer: 3 } as unknown as Partial<PortAttr>);
  assertEquals(added(port({}), shown), [
    "\t\t\tstate:\t\t\tinvalid state (0)",
    "\t\t\tmax_mtu:\t\tinvalid MTU (6)",
    "\t\t\tlink_layer:\t\tUnknown",
    "\t\t\tmax_vl_num:\t\tinvalid value (0)",
    "\t\t\tactive_width:\t\tinvalid widthX (32)",
    "\t\t\tactive_speed:\t\tinvalid speed (255)",
    "\t\t\tphys_state:\t\tinvalid physical state (8)",
  ]);
});

/** Attributes with codes, and how a port shows each code. */
const CODES: readonly [attr: keyof PortAttr, label: string, shown: string][] = [
  ["state", "state", "PORT_DOWN (1), PORT_INIT (2), PORT_ARMED (3), PORT_ACTIVE (4)"],
  ["maxMtu", "max_mtu", "256 (1), 512 (2), 1024 (3), 2048 (4), 4096 (5)"],
  ["linkLayer", "link_layer", "Unspecified, InfiniBand, Ethernet"],
  ["maxVlNum", "max_vl_num", "1 (1), 2 (2), 4 (3), 8 (4), 15 (5)"],
  ["activeWidth", "active_width", "1X (1), 4X (2), 8X (4), 12X (8), 2X (16)"],
  ["activeSpeed", "active_speed", "2.5 Gbps (1), 5.0 Gbps (2), 10.0 Gbps (4), 10.0 Gbps (8)"],
  ["activeSpeed", "active_speed", "14.0 Gbps (16), 25.0 Gbps (32), 50.0 Gbps (64)"],
  ["activeSpeed", "active_speed", "100.0 Gbps (128)"],
  ["activeSpeedEx", "active_speed", "2.5 Gbps (1), 200.0 Gbps (256)"],
  ["physState", "phys_state", "SLEEP (1), POLLING (2), DISABLED (3), LINK_UP (5), PHY TEST (7)"],
  ["physState", "phys_state", "PORT_CONFIGURATION TRAINNING (4), LINK_ERROR_RECOVERY (6)"],
];

Deno.test("devinfo names the codes of a port as ibv_devinfo does", () => {
  for (const [attr, label, shown] of CODES) {
    for (const [i, text] of shown.split(", ").entries()) {
      const code = Number(/ \((\d+)\)$/.exec(text)?.[1] ?? i);
      const line = port({ [attr]: code }).find((line) => line.startsWith(`\t\t\t${label}:`))!;
      assertEquals(line.split("\t").at(-1), text);
    }
  }
});

Deno.test("devinfo prints types of GIDs on Ethernet, and a physical state of InfiniBand transports", () => {
  assertEquals(added(port({}), port({ linkLayer: 2 })), [
    "\t\t\tlink_layer:\t\tEthernet",
    "\t\t\tGID[  0]:\t\tfe80:0000:0000:0000:0000:0000:0000:0001, RoCE v1",
    "\t\t\tGID[  1]:\t\t::ffff:10.0.0.0, RoCE v2",
    "\t\t\tGID[  2]:\t\tfe80:0000:0000:0000:0000:0000:0000:0003, RoCE v1",
  ]);
  const iwarp = port({}, { transportType: 1 });
  assertEquals(added(iwarp, port({})), ["\t\t\tphys_state:\t\tLINK_UP (5)"]);
  assertEquals(added(port({}), iwarp), []);
});

Deno.test("devinfo prints the effective speed of a port that tells it", () => {
  const shown = (speed: bigint): string[] => added(port({}), port({}, { speed }));
  assertEquals(shown(1000n), ["\t\t\teffective_speed:\t100.0 Gbps"]);
  assertEquals(shown(25n), ["\t\t\teffective_speed:\t2.5 Gbps"]);
});

Deno.test("devinfo -l counts the devices", () => {
  assertEquals(namesLines(["a"]), ["1 HCA found:", "\ta", ""]);
  assertEquals(namesLines([]), ["0 HCAs found:", ""]);
});

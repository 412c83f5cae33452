/** What the InfiniBand specification calls the classes, methods and attributes of management datagrams. */

type Names = Readonly<Record<number, string>>;

/** The class of connection managers. */
export const CM_CLASS = 7;

/** Each class with its attributes. Those of all classes are not repeated. */
const CLASSES: Readonly<Record<number, readonly [name: string, attributes: Names]>> = {
  0x01: ["subnet management", {
    0x10: "NodeDescription",
    0x11: "NodeInfo",
    0x12: "SwitchInfo",
    0x14: "GUIDInfo",
    0x15: "PortInfo",
    0x16: "P_KeyTable",
    0x17: "SLtoVLMappingTable",
    0x18: "VLArbitrationTable",
    0x19: "LinearForwardingTable",
    0x1a: "RandomForwardingTable",
    0x1b: "MulticastForwardingTable",
    0x1c: "LinkSpeedWidthPairsTable",
    0x1d: "VendorSpecificMadsTable",
    0x1e: "HierarchyInfo",
    0x20: "SMInfo",
    0x30: "VendorDiag",
    0x31: "LedInfo",
    0x32: "CableInfo",
    0x33: "PortInfoExtended",
  }],
  0x03: ["subnet administration", {
    0x11: "NodeRecord",
    0x12: "PortInfoRecord",
    0x13: "SLtoVLMappingTableRecord",
    0x14: "SwitchInfoRecord",
    0x15: "LinearForwardingTableRecord",
    0x16: "RandomForwardingTableRecord",
    0x17: "MulticastForwardingTableRecord",
    0x18: "SMInfoRecord",
    0x19: "LinkSpeedWidthPairsTableRecord",
    0x20: "LinkRecord",
    0x30: "GuidInfoRecord",
    0x31: "ServiceRecord",
    0x33: "P_KeyTableRecord",
    0x35: "PathRecord",
    0x36: "VLArbitrationTableRecord",
    0x38: "MCMemberRecord",
    0x39: "TraceRecord",
    0x3a: "MultiPathRecord",
    0x3b: "ServiceAssociationRecord",
    0x3c: "HierarchyInfoRecord",
    0x3d: "CableInfoRecord",
    0x3e: "PortInfoExtendedRecord",
    0xf3: "InformInfoRecord",
  }],
  0x04: ["performance management", {
    0x10: "PortSamplesControl",
    0x11: "PortSamplesResult",
    0x12: "PortCounters",
    0x15: "PortRcvErrorDetails",
    0x16: "PortXmitDiscardDetails",
    0x17: "PortOpRcvCounters",
    0x18: "PortFlowCtlCounters",
    0x19: "PortVLOpPackets",
    0x1a: "PortVLOpData",
    0x1b: "PortVLXmitFlowCtlUpdateErrors",
    0x1c: "PortVLXmitWaitCounters",
    0x1d: "PortCountersExtended",
    0x1e: "PortSamplesResultExtended",
    0x1f: "PortExtendedSpeedsCounters",
    0x30: "SwPortVLCongestion",
    0x31: "PortRcvConCtrl",
    0x32: "PortSLRcvFECN",
    0x33: "PortSLRcvBECN",
    0x34: "PortXmitConCtrl",
    0x35: "PortVLXmitTimeCong",
    0x36: "PortXmitDataSL",
    0x37: "PortRcvDataSL",
  }],
  0x05: ["baseboard management", {
    0x10: "B_KeyInfo",
    0x20: "WriteVPD",
    0x21: "ReadVPD",
    0x22: "ResetIBML",
    0x23: "SetModulePMControl",
    0x24: "GetModulePMControl",
    0x25: "SetUnitPMControl",
    0x26: "GetUnitPMControl",
    0x27: "SetIOCPMControl",
    0x28: "GetIOCPMControl",
    0x29: "SetModuleState",
    0x2a: "SetModuleAttention",
    0x2b: "GetModuleStatus",
    0x2c: "IB2IBML",
    0x2d: "IB2CME",
    0x2e: "IB2MME",
    0x2f: "OEM",
  }],
  0x06: ["device management", {
    0x10: "IOUnitInfo",
    0x11: "IOControllerProfile",
    0x12: "ServiceEntries",
    0x20: "DiagnosticTimeout",
    0x21: "PrepareToTest",
    0x22: "TestDeviceOnce",
    0x23: "TestDeviceLoop",
    0x24: "DiagCode",
  }],
  [CM_CLASS]: ["communication management", {
    0x1b: "SuggestAlternatePath",
    0x1c: "SuggestPathResponse",
  }],
  0x08: ["SNMP", { 0x10: "CommunityInfo", 0x11: "PduInfo" }],
  0x21: ["congestion control", {
    0x11: "CongestionInfo",
    0x12: "CongestionKeyInfo",
    0x13: "CongestionLog",
    0x14: "SwitchCongestionSetting",
    0x15: "SwitchPortCongestionSetting",
    0x16: "CACongestionSetting",
    0x17: "CongestionControlTable",
    0x18: "TimeStamp",
  }],
};

/** The class that reaches its node by a directed route has the attributes of this one. */
const DIRECTED_ROUTE = 0x81;
const SUBNET_MANAGEMENT = 0x01;

/** Attributes of all classes. */
const COMMON: Names = { 0x01: "ClassPortInfo", 0x02: "Notice", 0x03: "InformInfo" };

/** Classes and attributes that vendors and applications define. */
const RANGES: readonly (readonly [first: number, last: number, name: string])[] = [
  [0x09, 0x0f, "class of a vendor"],
  [0x10, 0x2f, "class of an application"],
  [0x30, 0x4f, "class of a vendor"],
];
const FIRST_OF_VENDORS = 0xff00;

const METHODS: Names = {
  0x01: "Get",
  0x02: "Set",
  0x03: "Send",
  0x05: "Trap",
  0x06: "Report",
  0x07: "TrapRepress",
  0x12: "GetTable",
  0x13: "GetTraceTable",
  0x14: "GetMulti",
  0x15: "Delete",
  0x81: "GetResp",
  0x86: "ReportResp",
  0x92: "GetTableResp",
  0x94: "GetMultiResp",
  0x95: "DeleteResp",
};

export function className(value: number): string {
  if (value === DIRECTED_ROUTE) return "subnet management by a directed route";
  const range = RANGES.find(([first, last]) => first <= value && value <= last);
  return CLASSES[value]?.[0] ?? range?.[2] ?? "another class";
}

export function methodName(value: number): string {
  return METHODS[value] ?? "another method";
}

/** The name of an attribute of a class. */
export function attributeName(mgmtClass: number, value: number): string {
  const own = CLASSES[mgmtClass === DIRECTED_ROUTE ? SUBNET_MANAGEMENT : mgmtClass]?.[1];
  const ofVendor = value >= FIRST_OF_VENDORS ? "attribute of a vendor" : undefined;
  return own?.[value] ?? COMMON[value] ?? ofVendor ?? "another attribute";
}

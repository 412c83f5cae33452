// A valid call of everything in ./cm.

import {
  AddrInfoFlags,
  CmError,
  CmEventType,
  type CmId,
  EventChannel,
  PortSpace,
} from "../../../cm.ts";
import { EventType, QpState, QpType } from "../../../mod.ts";
import type { Receiver, Recipe } from "./parts.ts";
import type { ObjectSet } from "./object_set.ts";

const GROUP = "239.1.2.3";
const TYPE = CmEventType;

const signal = (): AbortSignal => new AbortController().signal;
const address = (): object => ({ hostname: "fe80::1", port: 7471, scopeId: 2 });
const param = (): object => ({
  privateData: new Uint8Array(4),
  responderResources: 1,
  initiatorDepth: 1,
  flowControl: true,
  retryCount: 7,
  rnrRetryCount: 7,
  srq: false,
});
const hints = (): object => ({
  flags: AddrInfoFlags.NOROUTE,
  family: 2,
  qpType: QpType.RC,
  portSpace: PortSpace.TCP,
  signal: signal(),
});
const withQp = ({ cmNet }: ObjectSet): unknown[] => [cmNet.newQp(), param(), { signal: signal() }];

/** A method of an id: the state that it needs, the event that it waits for, and its arguments. */
type Step = readonly [
  state: string,
  event: CmEventType | undefined,
  args: (set: ObjectSet) => unknown[],
  portSpace?: PortSpace,
];

const STEPS: Readonly<Record<string, Step>> = {
  bindAddr: ["IDLE", undefined, () => [address()]],
  resolveAddr: [
    "BOUND",
    TYPE.ADDR_RESOLVED,
    () => [address(), { timeout: 2000, signal: signal(), srcAddr: address() }],
  ],
  resolveRoute: [
    "ADDR_RESOLVED",
    TYPE.ROUTE_RESOLVED,
    () => [{ timeout: 2000, signal: signal() }],
  ],
  resolveAddrInfo: ["IDLE", TYPE.ADDRINFO_RESOLVED, () => ["localhost", "7471", hints()]],
  queryAddrInfo: ["IDLE", undefined, () => []],
  writeCmEvent: ["IDLE", undefined, () => [TYPE.USER, -5, 2n ** 64n - 1n]],
  listen: ["BOUND", undefined, () => [16]],
  prepare: ["ADDR_RESOLVED", undefined, ({ cmNet }) => [cmNet.newQp()]],
  connect: ["ROUTE_RESOLVED", TYPE.CONNECT_RESPONSE, withQp],
  establish: ["RESPONDED", undefined, () => [{ signal: signal() }]],
  accept: ["REQUESTED", TYPE.ESTABLISHED, withQp],
  reject: ["REQUESTED", undefined, () => [{ privateData: new Uint8Array(4), ece: true }]],
  notify: ["ESTABLISHED", undefined, () => [EventType.COMM_EST]],
  disconnect: [
    "ESTABLISHED",
    TYPE.DISCONNECTED,
    () => [{ timeout: 2000, signal: signal() }],
  ],
  disconnected: ["ESTABLISHED", TYPE.DISCONNECTED, () => [{ signal: signal() }]],
  joinMulticast: [
    "BOUND",
    undefined,
    () => [GROUP, { sendOnly: true, signal: signal() }],
    PortSpace.UDP,
  ],
  leaveMulticast: ["BOUND", undefined, () => [GROUP], PortSpace.UDP],
  migrate: [
    "ESTABLISHED",
    undefined,
    (set) => [set.once("cmOtherChannel", () => new EventChannel())],
  ],
};

function idFor(set: ObjectSet, name: string): Promise<CmId> {
  const [state, , , portSpace] = STEPS[name]!;
  return set.once(`id for ${name}`, async () => {
    const id = await set.cmNet.idIn(state, portSpace);
    if (name === "leaveMulticast") await id.joinMulticast(GROUP);
    return id;
  });
}

const ofIds = Object.entries(STEPS).map(([name, [, event, args]]): [string, Recipe] => [
  `CmId#${name}`,
  async (set) => {
    const id = await idFor(set, name);
    if (event !== undefined) set.cmNet.push(id, event);
    return args(set);
  },
]);

/** Makes an event that no method waits for. */
async function request({ cmNet }: ObjectSet): Promise<void> {
  cmNet.push(await cmNet.idIn("LISTENING"), TYPE.CONNECT_REQUEST);
}

/** The calls of ./cm. */
export const CM_RECIPES: Readonly<Record<string, Recipe>> = {
  "new EventChannel": () => [],
  "EventChannel#events": async (set) => {
    await request(set);
    return [{ signal: signal() }];
  },
  "new CmId": ({ cmChannel }) => [cmChannel, PortSpace.UDP],
  ...Object.fromEntries(ofIds),
  "CmId#setOptions": () => [{ tos: 8, reuseAddr: true, afOnly: true, ackTimeout: 14 }],
  "CmId#setLocalEce": () => [{ vendorId: 1, options: 2 }],
  "CmId#initQpAttr": () => [QpState.INIT],
  getAddrInfo: () => ["localhost", "7471", hints()],
  eventStr: () => [TYPE.REJECTED],
};

/** The objects of ./cm. */
export const CM_RECEIVERS: Readonly<Record<string, Receiver>> = {
  EventChannel: ({ cmChannel }) => cmChannel,
  "EventChannel#[Symbol.asyncIterator]": async (set) => {
    await request(set);
    return set.cmChannel;
  },
  CmId: ({ cmId }) => cmId,
  ...Object.fromEntries(
    Object.keys(STEPS).map((name) => [`CmId#${name}`, (set: ObjectSet) => idFor(set, name)]),
  ),
  CmError: () => new CmError("Cannot test", TYPE.REJECTED, 8),
};

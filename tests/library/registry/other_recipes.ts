// A valid call of everything in ./net, ./cli, ./ffi and ./testing.

import { structs, SystemError } from "../../../ffi/mod.ts";
import { DEVICE } from "./recorder_device.ts";
import { TransportType } from "../../../mod.ts";
import { connect, setDevices, setField } from "../../provider/recorder.ts";
import type { Receiver, Recipe } from "./parts.ts";
import { type ObjectSet, QKEY } from "./object_set.ts";

const IP_GROUP = "239.1.2.3";
const MESSAGE = new Uint8Array(8);

const RC = {
  device: DEVICE,
  portNum: 1,
  gidIndex: 0,
  pkeyIndex: 0,
  credits: 4,
  sendDepth: 4,
  maxMessage: 64,
  ackTimeout: 17,
  retryCnt: 1,
  keepAlive: 0,
  spinMicroseconds: 0,
  connectTimeout: 5000,
  peerGid: "any",
};

const signal = (): AbortSignal => new AbortController().signal;

async function udPeer(set: ObjectSet): Promise<object> {
  return { ...(await set.udConn()).addr };
}

async function remote(set: ObjectSet): Promise<object> {
  return { ...(await set.exposed()).remote };
}

const bytes = (): DataView => new DataView(new ArrayBuffer(structs.ibv_wc.size));
/** Copies: the misuses write into them. */
const field = (): object => ({ ...structs.ibv_wc.fields.wr_id });
const struct = (): object => ({ ...structs.ibv_wc, fields: { wr_id: field() } });

const UD_OPTIONS = {
  device: DEVICE,
  portNum: 1,
  qkey: QKEY,
  gidIndex: 0,
  pkeyIndex: 0,
  recvDepth: 4,
  sendDepth: 4,
  maxQueued: 4,
  maxPeers: 4,
  spinMicroseconds: 0,
  onOutage: () => {},
};

/** The calls of ./net, ./cli, ./ffi and ./testing. */
export const OTHER_RECIPES: Readonly<Record<string, Recipe>> = {
  checkLeaks: () => [],
  whyNoDevice: () => [DEVICE],
  listenUd: ({ signal }) => [{ ...UD_OPTIONS, signal }],
  "listenUd (address)": (set) => {
    set.cmNet;
    return [{ device: DEVICE, port: 7471, signal: set.signal }];
  },
  listenSrd: ({ signal }) => {
    // Only a device that is new is an adapter.
    setField("device", "transport_type", TransportType.UNSPECIFIED);
    setDevices(2);
    return [{ ...UD_OPTIONS, device: "recorder1", rnrRetry: 7, signal }];
  },
  "UdConn#receive": async (set) => {
    const conn = await set.udConn();
    await conn.send(MESSAGE, conn.addr);
    return [{ buffer: new Uint8Array(4096), signal: signal() }];
  },
  "UdConn#send": async (set) => [MESSAGE.slice(), await udPeer(set), { signal: signal() }],
  "UdConn#receiveMany": async (set) => {
    const conn = await set.udConn();
    await conn.send(MESSAGE, conn.addr);
    return [new Uint8Array(4096), { signal: signal() }];
  },
  "UdConn#borrow": async (set) => {
    const conn = await set.udConn();
    await conn.send(MESSAGE, conn.addr);
    return [{ signal: signal() }];
  },
  "UdConn#sendMany": async (set) => [
    [[MESSAGE.slice(), await udPeer(set)]],
    { signal: signal() },
  ],
  "UdConn#lookup": () => [
    { hostname: "host", port: 7471 },
    { timeout: 5000, retryInterval: 1, signal: signal() },
  ],
  "UdConn#join": (set) => {
    set.cmNet;
    return [IP_GROUP, { signal: signal(), deviceOnly: false }];
  },
  "UdConn#leave": async (set) => {
    set.cmNet;
    await (await set.udConn()).join(IP_GROUP);
    return [IP_GROUP];
  },
  listenRc: ({ signal }) => [
    {
      ...RC,
      signal,
      hostname: "127.0.0.1",
      tcpPort: 0,
      maxPending: 4,
      maxHandshakes: 4,
      maxPerPeer: 2,
      onFailure: () => {},
    },
  ],
  "RcListener#accept": async (set) => {
    await set.rcClient();
    return [{ signal: signal() }];
  },
  "connectRc (exchange)": ({ signal }) => {
    connect();
    return [{ ...RC, signal, exchange: (address: object) => Promise.resolve({ ...address }) }];
  },
  "connectRc (tcp)": async (set) => [
    {
      ...RC,
      signal: set.signal,
      hostname: "127.0.0.1",
      tcpPort: (await set.listener()).addr.port,
      retryInterval: 5,
    },
  ],
  "RcConn#receive": async (set) => {
    await (await set.rcConn()).send(MESSAGE);
    return [{ buffer: new Uint8Array(64), signal: signal() }];
  },
  "RcConn#receiveMany": async (set) => {
    await (await set.rcConn()).send(MESSAGE);
    return [new Uint8Array(64), { signal: signal() }];
  },
  "RcConn#borrow": async (set) => {
    await (await set.rcConn()).send(MESSAGE);
    return [{ signal: signal() }];
  },
  "RcConn#send": () => [MESSAGE.slice(), { signal: signal() }],
  "RcConn#flush": () => [{ signal: signal() }],
  "RcConn#expose": () => [64, { signal: signal() }],
  "RcConn#write": async (set) => [
    await remote(set),
    8,
    MESSAGE.slice(),
    { signal: signal(), immData: 7 },
  ],
  "RcConn#writes": () => [{ signal: signal() }],
  "RcConn#read": async (set) => [await remote(set), 8, 16, { signal: signal() }],
  "RcConn#fetchAndAdd": async (set) => [await remote(set), 8, 1n, { signal: signal() }],
  "RcConn#compareAndSwap": async (set) => [await remote(set), 8, 0n, 1n, { signal: signal() }],
  "RcConn#close": () => [{ signal: signal() }],
  "runCli (devices)": () => [["devices", "--json"]],
  "runCli (devinfo)": () => [["devinfo", "--ib-dev", DEVICE]],
  "runCli (gids)": () => [["gids", "--json"]],
  "runCli (explain)": () => [["explain", "--as", "grh", "60".padEnd(80, "0")]],
  errnoDescription: () => [22],
  errnoName: () => [22],
  hasSymbol: () => ["ibv_open_device"],
  bufferAddress: () => [new Uint8Array(64)],
  bufferPointer: () => [new Uint8Array(64)],
  handleAddress: ({ pd }) => [pd.unsafeHandle],
  handleAt: () => [1n],
  allocStruct: () => [struct(), 2],
  camelCase: () => ["wr_id"],
  fieldBytes: () => [bytes(), field(), 0],
  readField: () => [bytes(), field(), 0],
  writeField: () => [bytes(), field(), 1n, 0],
  structToObject: () => [bytes(), struct(), 0],
};

/** The objects of ./net. */
export const OTHER_RECEIVERS: Readonly<Record<string, Receiver>> = {
  UdConn: (set) => set.udConn(),
  "UdConn#lookup": (set) => set.udFinder(),
  RcListener: (set) => set.listener(),
  RcConn: (set) => set.rcConn(),
  ExposedMemory: (set) => set.exposed(),
  BorrowedMessage: async (set) => {
    const conn = await set.rcConn();
    await conn.send(MESSAGE);
    return await conn.borrow();
  },
  BorrowedDatagram: async (set) => {
    const conn = await set.udConn();
    await conn.send(MESSAGE, conn.addr);
    return await conn.borrow();
  },
  SystemError: () => new SystemError("Cannot test", "write", 22),
  // Iterations whose object has something for the first step.
  "UdConn#[Symbol.asyncIterator]": async (set) => {
    const conn = await set.udConn();
    await conn.send(MESSAGE, conn.addr);
    return conn;
  },
  "RcListener#[Symbol.asyncIterator]": async (set) => {
    await set.rcClient();
    return await set.listener();
  },
  // Else it waits for the end.
  "RcConn#closed": async (set) => {
    const conn = await set.rcConn();
    conn[Symbol.dispose]();
    return conn;
  },
  "RcConn#writes": async (set) => {
    const conn = await set.rcConn();
    const { remote } = await set.exposed();
    await conn.write(remote, 8, MESSAGE, { immData: 7 });
    return conn;
  },
  "RcConn#[Symbol.asyncIterator]": async (set) => {
    const conn = await set.rcConn();
    await conn.send(MESSAGE);
    return conn;
  },
};

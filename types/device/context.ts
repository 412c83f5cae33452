import { reasonOf } from "../../internal/texts.ts";
import type { IbvContext, IbvDevice } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { hasNetdev } from "../../ffi/host.ts";
import { allocStruct, fieldBytes, readField, readNative } from "../../ffi/struct.ts";
import { Gid, type GidEntry, GidType } from "../address/gid.ts";
import type { AbortOptions } from "../../wait/abort.ts";
import { timeoutOf, type TimeoutOptions } from "../../wait/deadline.ts";
import { integer, show, uint16, uint32 } from "../../internal/checks.ts";
import { made, partsOf } from "../../internal/made.ts";
import { readStruct } from "../core/attributes.ts";
import { causeOf, type Causes } from "../core/causes.ts";
import { call, failure } from "../core/errors.ts";
import { type NativeKind, NativeResource } from "../core/native_resource.ts";
import { assertOpen } from "../core/resource.ts";
import { nameIn, shown } from "../core/shown.ts";
import {
  type AsyncEvent,
  asyncEvents,
  closeAsyncEvents,
  iterateEvents,
  iterateEventsSync,
} from "./async_events.ts";
import {
  describeDevice,
  describeImported,
  type DeviceInfo,
  deviceName,
  withDeviceList,
} from "./device.ts";
import { type DeviceAttr, readDeviceAttr } from "./device_attr.ts";
import {
  type CompCntrCaps,
  type DeviceAttrEx,
  queryCompCntrCaps,
  queryDeviceEx,
  queryRtValuesEx,
  type RtValuesEx,
} from "./device_attr_ex.ts";
import { causeOfNone } from "./no_device.ts";
import { type PortAttr, PortState, readPortAttr } from "./port.ts";
import { onlyReason, type RecommendedGid, recommendGid } from "./recommend_gid.ts";

export const OPEN_CAUSES: Causes<{ readonly devName: string }> = [
  ["EACCES, ENOENT", "/dev/infiniband/{devName} must exist, readable and writable"],
  [
    "EPERM",
    "The device belongs to another network namespace, or the control group of the process forbids it: " +
    '"doctor" of @rdma/cli says which',
  ],
  ["ENODEV, ENXIO, EIO", "The device went away meanwhile: list the devices again"],
];

/** A slot of a table of a port that could not be read, and how many slots there are. */
interface Slot {
  readonly index: number;
  readonly length: number;
}

const isBeyond = ({ index, length }: Slot): boolean => index >= length;

export const GID_CAUSES: Causes<Slot> = [
  ["ENODATA", "The slot is empty: queryGidTable() lists the used slots"],
  ["any", "The port's GID table has {length} slots, and no slot {index}", isBeyond],
];

export const PKEY_CAUSES: Causes<Slot> = [
  ["any", "The port's P_Key table has {length} slots, and no slot {index}", isBeyond],
];

const { fields: PORT } = structs.ibv_port_attr;

/** The parts of a context. */
interface Opened {
  readonly handle: IbvContext;
  readonly device: DeviceInfo;
}

const KIND: NativeKind<IbvContext, Context> = {
  name: "context",
  closing: closeAsyncEvents,
  destroy: (handle) => call("ibv_close_device", "close device", [handle]),
  describe: ({ device }) => ({ device: device.name }),
};

/**
 * An open device (`struct ibv_context`). `Context.open` opens one. All other objects are made from it,
 * directly or through a `ProtectionDomain`. Disposing it disposes all of them.
 *
 * @example Open a device and look at a port
 * ```ts
 * import { Context, mtuBytes } from "@rdma/ibverbs";
 *
 * using context = Context.open("rxe0");
 * const { activeMtu } = context.queryPort(1);
 * const { gid, gidIndex, reason } = context.recommendGid(1);
 * console.log(`MTU ${mtuBytes(activeMtu)} bytes`); // MTU 1024 bytes
 * console.log(`GID ${gid} at index ${gidIndex}: ${reason}`); // GID ::ffff:10.0.0.1 at index 1: RoCE v2 with ...
 * ```
 *
 * @category Devices and ports
 */
export class Context extends NativeResource<IbvContext> {
  /** The device, as the device list describes it. */
  readonly device: DeviceInfo;
  #physPortCnt: number | undefined;

  /** @ignore `Context.open` opens a device. */
  constructor(opened: "Context.open() opens a device") {
    const { handle, device } = partsOf<Opened>(opened, "Context", "Context.open() opens a device");
    super(KIND, handle, []);
    this.device = device;
  }

  /**
   * Opens a device (`ibv_open_device`). Without a name it opens the first device that has an active port; a device that
   * cannot be opened is skipped.
   *
   * @param name The name of the device, such as `rxe0`.
   * @throws {Deno.errors.NotFound} If there is no such device. The message lists the devices, and without a name the
   * reason why each one was skipped.
   * @throws {VerbsError} If the named device cannot be opened.
   */
  static open(name?: string): Context {
    if (name === undefined) return Context.#openActive();
    if (typeof name !== "string") {
      throw new TypeError(`Cannot open device ${show(name)}: its name is needed, a string`);
    }
    return withDeviceList((devices) => {
      const device = devices.find((candidate) => deviceName(candidate) === name);
      if (device !== undefined) return Context.#fromDevice(device);
      if (devices.length === 0) throw noDevice(`device "${name}"`);
      const known = devices.map(deviceName).join(", ");
      throw new Deno.errors.NotFound(
        `Cannot open device: there is no device "${name}". The devices are: ${known}`,
      );
    });
  }

  /**
   * Makes a context for a device that another process has opened (`ibv_import_device`). The objects of that process are
   * reached through it.
   *
   * @param cmdFd A duplicate of the `Context.cmdFd` of the other process, for instance received over a Unix
   * socket. The context owns it and closes it.
   * @throws {TypeError} If it is not an integer.
   * @throws {RangeError} If it is negative.
   * @throws {VerbsError} EOPNOTSUPP if the provider cannot import; another code if the descriptor is not of a device.
   * @experimental Not tested on any device: it has only run on a library that records calls.
   */
  static import(cmdFd: number): Context {
    integer(cmdFd, "cmdFd", 0, 0x7fff_ffff);
    const handle = call("ibv_import_device", `import device (descriptor ${cmdFd})`, [cmdFd]);
    return new Context(made<Opened>({ handle, device: describeImported(handle) }));
  }

  static #openActive(): Context {
    return withDeviceList((devices) => {
      const reasons: string[] = [];
      const causes: unknown[] = [];
      for (const device of devices) {
        try {
          using stack = new DisposableStack();
          const context = stack.use(Context.#fromDevice(device));
          if (context.hasActivePort) {
            stack.move();
            return context;
          }
          reasons.push(`${deviceName(device)} (no port is active)`);
        } catch (error) {
          const name = deviceName(device);
          reasons.push(`${name} (${reasonOf(error, `open device "${name}"`)})`);
          causes.push(error);
        }
      }
      const options = causes.length === 0 ? {} : { cause: new AggregateError(causes) };
      if (reasons.length === 0) throw noDevice("RDMA device");
      throw new Deno.errors.NotFound(
        `Cannot open device: no device with an active port can be opened. The devices are: ${
          reasons.join(", ")
        }`,
        options,
      );
    });
  }

  static #fromDevice(device: IbvDevice): Context {
    const info = describeDevice(device);
    const handle = call("ibv_open_device", `open device "${info.name}"`, [device], {
      // If the system denies access to the file, libibverbs looks for it elsewhere, and answers that there is none.
      hint: (code) => causeOf(OPEN_CAUSES, code, info),
    });
    return new Context(made<Opened>({ handle, device: info }));
  }

  /**
   * Whether one of the ports is active.
   *
   * @throws {VerbsError} If the device does not answer.
   */
  get hasActivePort(): boolean {
    for (let port = 1; port <= this.physPortCnt; port++) {
      if (readField(this.#portAttr(port), PORT.state) === PortState.ACTIVE) return true;
    }
    return false;
  }

  /** The number of ports. Port numbers start at 1. */
  get physPortCnt(): number {
    const { phys_port_cnt } = structs.ibv_device_attr.fields;
    return this.#physPortCnt ??= readField(this.#deviceAttr(), phys_port_cnt);
  }

  /** The number of completion vectors: `CqInitAttr.compVector` is below it. */
  get numCompVectors(): number {
    return readNative(this.unsafeHandle, structs.ibv_context.fields.num_comp_vectors);
  }

  /**
   * The descriptor of the device file. Another process can import the device with a duplicate of it:
   * `Context.import`.
   */
  get cmdFd(): number {
    return readNative(this.unsafeHandle, structs.ibv_context.fields.cmd_fd);
  }

  /**
   * Asynchronous events of the device as they come, for `for await` (`ibv_get_async_event`,
   * `ibv_ack_async_event`). Each event names the object or the port that it is about. Several iterations get the same
   * events. An iteration gets the events that are read from its first step on. Closing the context ends it.
   *
   * @throws {TypeError} If the context is disposed, or if the signal is not an AbortSignal.
   * @throws {VerbsError} If the device is gone.
   * @throws The reason of the signal, if it aborts.
   *
   * @example Report changes of ports
   * ```ts
   * import { type Context, EventType, nameOf } from "@rdma/ibverbs";
   *
   * async function report(context: Context, signal: AbortSignal): Promise<void> {
   *   for await (const { eventType, portNum } of context.events({ signal })) {
   *     console.log(nameOf(EventType, eventType), portNum);
   *   }
   * }
   * ```
   */
  events(options: AbortOptions = {}): AsyncGenerator<AsyncEvent, void, void> {
    assertOpen(this);
    return iterateEvents(this, options);
  }

  /**
   * Lets waits for `Context.events` keep the program alive, as before `Context.unref`.
   *
   * @throws {TypeError} If the context is disposed.
   */
  ref(): void {
    assertOpen(this);
    asyncEvents(this).hold(true);
  }

  /**
   * Lets the program end although something waits for `Context.events`, as `unref()` of Deno's sockets does. If the
   * program waits for nothing else, events may be read up to half a second late.
   *
   * @throws {TypeError} If the context is disposed.
   */
  unref(): void {
    assertOpen(this);
    asyncEvents(this).hold(false);
  }

  /**
   * Asynchronous events of the device, for a program that has the thread to itself: as `Context.events`, but it blocks
   * the thread. The iteration also ends when no event comes within `timeout`. Events that others read between two
   * iterations, such as a `ReplyPath`, are missed. `CompletionQueue.waitSync` explains when blocking is right, and what
   * ends the wait.
   *
   * @throws {TypeError} If the context is disposed, or the time limit is not an integer.
   * @throws {RangeError} If the time limit is out of range.
   * @throws {VerbsError} If the device is gone.
   *
   * @example Wait until a port is active, and no longer than a minute without events
   * ```ts
   * import { type Context, EventType } from "@rdma/ibverbs";
   *
   * function waitForLink(context: Context): boolean {
   *   return context.eventsSync({ timeout: 60_000 }).some(({ eventType }) => eventType === EventType.PORT_ACTIVE);
   * }
   * ```
   */
  eventsSync(options: TimeoutOptions = {}): Generator<AsyncEvent, void, void> {
    const timeout = timeoutOf(options);
    assertOpen(this);
    return iterateEventsSync(this, timeout);
  }

  /**
   * Basic capabilities of the device (`ibv_query_device`).
   *
   * @throws {VerbsError} If the device does not answer.
   */
  queryDevice(): DeviceAttr {
    return readDeviceAttr(this.#deviceAttr());
  }

  #deviceAttr(): DataView<ArrayBuffer> {
    const attr = allocStruct(structs.ibv_device_attr);
    call("ibv_query_device", "query device", [this.unsafeHandle, attr]);
    return attr;
  }

  /**
   * All capabilities of the device (`ibv_query_device_ex`), such as receive side scaling. Attributes that the provider
   * does not report are 0.
   *
   * @throws {VerbsError} If the device does not answer.
   */
  queryDeviceEx(): DeviceAttrEx {
    return queryDeviceEx(this.unsafeHandle);
  }

  /**
   * What the device can do with `CompletionCounter` (`ibv_query_comp_cntr_caps`, since rdma-core 65).
   *
   * @throws {VerbsError} EOPNOTSUPP if the device or the installed libibverbs has no such counters.
   */
  queryCompCntrCaps(): CompCntrCaps {
    return queryCompCntrCaps(this.unsafeHandle);
  }

  /**
   * Values that change while the device runs (`ibv_query_rt_values_ex`): its clock.
   *
   * @throws {VerbsError} EOPNOTSUPP if the provider does not report them.
   */
  queryRtValuesEx(): RtValuesEx {
    return queryRtValuesEx(this.unsafeHandle);
  }

  /**
   * Attributes of a port (`ibv_query_port`).
   *
   * @param portNum The port, from 1.
   * @throws {RangeError} If the device has no such port.
   * @throws {VerbsError} If the device does not answer.
   */
  queryPort(portNum: number): PortAttr {
    return readPortAttr(this.#portAttr(portNum));
  }

  /** The struct is not decoded here: that takes longer than the rest of opening a device. */
  #portAttr(portNum: number): DataView<ArrayBuffer> {
    checkPort(this, portNum);
    const attr = allocStruct(structs.ibv_port_attr);
    call("ibv_query_port", `query port ${portNum}`, [this.unsafeHandle, portNum, attr]);
    return attr;
  }

  /**
   * The speed that a port has now, all lanes and bonded links together (`ibv_query_port_speed`, since rdma-core 62).
   *
   * @param portNum The port, from 1.
   * @returns The speed in units of 100 Mb/s.
   * @throws {RangeError} If the device has no such port.
   * @throws {VerbsError} EOPNOTSUPP if the device or the installed libibverbs does not report it.
   * @experimental Not tested on any device: it has only run on a library that records calls.
   */
  queryPortSpeed(portNum: number): bigint {
    checkPort(this, portNum);
    const speed = new BigUint64Array(1);
    call("ibv_query_port_speed", `query speed of port ${portNum}`, [
      this.unsafeHandle,
      portNum,
      speed,
    ]);
    return speed[0]!;
  }

  /**
   * A slot of a port's GID table (`ibv_query_gid`). An empty slot has the zero GID.
   *
   * @param portNum The port, from 1.
   * @param index The slot, from 0.
   * @throws {RangeError} If the device has no such port.
   * @throws {VerbsError} EINVAL if the table has no such slot.
   */
  queryGid(portNum: number, index: number): Gid {
    checkPort(this, portNum);
    integer(index, "index", 0, 0x7fff_ffff);
    const bytes = new Uint8Array(structs.ibv_gid.size);
    const action = `query GID ${index} of port ${portNum}`;
    call("ibv_query_gid", action, [this.unsafeHandle, portNum, index, bytes], {
      hint: (code) => this.#hintGid(code, portNum, index),
    });
    return new Gid(bytes);
  }

  /**
   * A used slot of a port's GID table with its type and network interface (`ibv_query_gid_ex`).
   *
   * @param portNum The port, from 1.
   * @param index The slot, from 0.
   * @throws {RangeError} If the device has no such port.
   * @throws {VerbsError} ENODATA if the slot is empty, EINVAL if the table has no such slot.
   */
  queryGidEx(portNum: number, index: number): GidEntry {
    checkPort(this, portNum);
    uint32(index, "index");
    const entry = allocStruct(structs.ibv_gid_entry);
    const action = `query GID ${index} of port ${portNum}`;
    call("ibv_query_gid_ex", action, [this.unsafeHandle, portNum, index, entry, 0], {
      hint: (code) => this.#hintGid(code, portNum, index),
    });
    return readGidEntry(entry, 0);
  }

  /**
   * The used slots of the GID tables (`ibv_query_gid_table`).
   *
   * @param portNum The port, from 1; all ports if it is left out.
   * @throws {RangeError} If the device has no such port.
   * @throws {VerbsError} If the device does not answer.
   */
  queryGidTable(portNum?: number): GidEntry[] {
    if (portNum !== undefined) checkPort(this, portNum);
    let slots = 0;
    for (let port = 1; port <= this.physPortCnt; port++) {
      slots += readField(this.#portAttr(port), PORT.gid_tbl_len);
    }
    const { size } = structs.ibv_gid_entry;
    const view = allocStruct(structs.ibv_gid_entry, slots);
    const count = Number(
      verbs().ibv_query_gid_table(this.unsafeHandle, view, BigInt(slots), 0),
    );
    if (count < 0) throw failure("ibv_query_gid_table", "query GID table", -count);
    const entries = Array.from({ length: count }, (_, i) => readGidEntry(view, i * size));
    return portNum === undefined ? entries : entries.filter((entry) => entry.portNum === portNum);
  }

  /**
   * The GID that most programs should send from, with the reason. Nothing applies it by itself: pass its `gidIndex` as
   * `sgidIndex`.
   *
   * The order is: RoCE v2 with an IPv4 address, RoCE v2 with a global IPv6 address, RoCE v2 with a link-local address
   * (`fe80::/10`, then 169.254.0.0/16), RoCE v2 on the loopback interface, RoCE v1 or InfiniBand. A port of an iWARP
   * device has one GID, which connections do not use. Zero GIDs are skipped. Where containers share the port, it is a
   * GID of a network interface of this process's namespace, if there is one.
   *
   * @param portNum The port, from 1.
   * @throws {RangeError} If the device has no such port.
   * @throws {Deno.errors.NotFound} If the port has no such GID.
   */
  recommendGid(portNum: number): RecommendedGid {
    return recommendGid(
      this.queryGidTable(checkPort(this, portNum)),
      portNum,
      onlyReason(this.device),
      hasNetdev,
    );
  }

  /**
   * A slot of a port's P_Key table (`ibv_query_pkey`).
   *
   * @param portNum The port, from 1.
   * @param index The slot, from 0.
   * @returns The P_Key in host order. 0xffff is the default partition.
   * @throws {RangeError} If the device has no such port.
   * @throws {VerbsError} If the table has no such slot.
   */
  queryPkey(portNum: number, index: number): number {
    checkPort(this, portNum);
    integer(index, "index", 0, 0x7fff_ffff);
    const pkey = new DataView(new ArrayBuffer(2));
    const action = `query P_Key ${index} of port ${portNum}`;
    call("ibv_query_pkey", action, [this.unsafeHandle, portNum, index, pkey], {
      hint: (code) =>
        causeOf(PKEY_CAUSES, code, { index, length: this.queryPort(portNum).pkeyTblLen }),
    });
    return pkey.getUint16(0);
  }

  /**
   * The slot of a P_Key in a port's table (`ibv_get_pkey_index`).
   *
   * @param portNum The port, from 1.
   * @param pkey The P_Key in host order, 16 bits.
   * @returns The index of the slot; -1 if the table does not have the P_Key.
   * @throws {RangeError} If the device has no such port.
   */
  getPkeyIndex(portNum: number, pkey: number): number {
    checkPort(this, portNum);
    const bytes = new DataView(new ArrayBuffer(2));
    bytes.setUint16(0, uint16(pkey, "pkey"));
    // C takes the P_Key in network order, as the 16-bit number that its bytes are on this machine.
    return verbs().ibv_get_pkey_index(this.unsafeHandle, portNum, bytes.getUint16(0, true));
  }

  #hintGid(code: string, portNum: number, index: number): string | undefined {
    return causeOf(GID_CAUSES, code, { index, length: this.queryPort(portNum).gidTblLen });
  }
}

function readGidEntry(view: DataView<ArrayBuffer>, base: number): GidEntry {
  type Numbers = Omit<GidEntry, "gid">;
  const gid = new Gid(fieldBytes(view, structs.ibv_gid_entry.fields.gid, base));
  const numbers = readStruct<"ibv_gid_entry", Numbers>("ibv_gid_entry", view, base);
  return shown({ ...numbers, gid }, { gidType: nameIn(GidType) });
}

/**
 * Checks a port number. Returns it.
 *
 * @throws {TypeError} If it is not a number.
 * @throws {RangeError} If the device has no such port.
 */
export function checkPort(context: Context, port: number, name = "portNum"): number {
  if (typeof port !== "number") {
    throw new TypeError(`Cannot use ${name} ${show(port)}: it is not an integer`);
  }
  const last = context.physPortCnt;
  if (Number.isInteger(port) && port >= 1 && port <= last) return port;
  const known = last === 1 ? "port 1 only" : `ports 1 to ${last}`;
  throw new RangeError(`Cannot use ${name} ${port}: device "${context.device.name}" has ${known}`);
}

/** The error of a host without any device, or without the one that was asked for. */
function noDevice(what: string): Error {
  const cause = causeOfNone().replace("There is no RDMA device", `there is no ${what}`);
  return new Deno.errors.NotFound(`Cannot open device: ${cause}`);
}

/**
 * An open device, from which everything else is made.
 *
 * @module
 */

import type { IbvContext, IbvDevice } from "../../ffi/handles.ts";
import { hasExtendedOp } from "../../ffi/inlines.ts";
import { structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { allocStruct, fieldBytes, readField, readNative, structToObject } from "../../ffi/struct.ts";
import type { AbortOptions } from "../core/abortable.ts";
import type { AhAttr } from "../address/ah_attr.ts";
import { initAhFromWc, initAhFromWcAsync } from "../address_handle/init_ah.ts";
import { CompletionChannel } from "../completion/completion_channel.ts";
import { CompletionQueue, type CqInit } from "../completion/completion_queue.ts";
import {
  describeDevice,
  type DeviceAttr,
  type DeviceInfo,
  deviceName,
  listDevices,
  readDeviceAttr,
  withDeviceList,
} from "./device.ts";
import { type DeviceAttrEx, queryDeviceEx } from "./device_attr_ex.ts";
import { check, checkErrno, checkHandle } from "../core/errors.ts";
import { Gid, type GidEntry, type GidType } from "../address/gid.ts";
import type { Grh } from "../address/grh.ts";
import { type PortAttr, PortState } from "./port.ts";
import { ProtectionDomain } from "../memory/protection_domain.ts";
import { Resource } from "../core/resource.ts";
import { RwqIndirectionTable, type RwqIndirectionTableInit } from "../rss/rwq_indirection_table.ts";
import { integer, uint16, uint32 } from "../core/checks.ts";
import type { WcAddress } from "../completion/work_completion.ts";

/**
 * An open device (`struct ibv_context`). Disposing it disposes everything made from it.
 *
 * @example Opening a device and looking at a port
 * ```ts
 * import { Context } from "@rdma/ibverbs";
 *
 * using context = Context.open("rxe0");
 * console.log(context.queryPort(1).activeMtu, context.gidTable(1));
 * ```
 */
export class Context extends Resource<IbvContext> {
  /** Its name in messages. */
  protected override readonly kind = "context";
  /** The device as the device list showed it. */
  readonly device: DeviceInfo;
  #physPortCnt: number | undefined;
  #channel: CompletionChannel | undefined;

  private constructor(handle: IbvContext, device: DeviceInfo) {
    super(handle, []);
    this.device = device;
  }

  /**
   * Opens a device (`ibv_open_device`): the one with that name, or else the first that has an active port.
   *
   * @throws {Deno.errors.NotFound} If there is no such device, naming those there are.
   * @throws {VerbsError} If it cannot be opened.
   */
  static open(name?: string): Context {
    if (name !== undefined) return openNamed(name) ?? fail(`there is no device "${name}"`);
    for (const { name } of listDevices()) {
      using stack = new DisposableStack();
      const context = stack.use(openNamed(name));
      if (!context?.hasActivePort) continue;
      stack.move();
      return context;
    }
    return fail("no device has an active port");
  }

  /** @ignore The way in for {@linkcode Context.open}. */
  static fromDevice(device: IbvDevice): Context {
    const info = describeDevice(device);
    const handle = checkHandle(
      "ibv_open_device",
      `open device "${info.name}"`,
      verbs().ibv_open_device(device),
      {
        // refused at its name, libibverbs looks for the file elsewhere, and then there is none
        hint: (code) =>
          code === "EACCES" || code === "ENOENT"
            ? `/dev/infiniband/${info.devName} must be there, readable and writable`
            : undefined,
      },
    );
    return new Context(handle, info);
  }

  /** Whether one of its ports is active. */
  get hasActivePort(): boolean {
    for (let port = 1; port <= this.physPortCnt; port++) {
      if (this.queryPort(port).state === PortState.ACTIVE) return true;
    }
    return false;
  }

  /** Number of ports; they count from 1. */
  get physPortCnt(): number {
    return this.#physPortCnt ??= this.queryDevice().physPortCnt;
  }

  /** Number of completion vectors: {@linkcode CqInit.compVector} is below it. */
  get numCompVectors(): number {
    return readNative(this.unsafeHandle, structs.ibv_context.fields.num_comp_vectors);
  }

  /**
   * Checks a port number.
   *
   * @throws {RangeError} If the device has no such port.
   */
  checkPort(port: number): void {
    if (!Number.isInteger(port) || port < 1 || port > this.physPortCnt) {
      const last = this.physPortCnt;
      throw new RangeError(
        `Cannot use port ${port}: device "${this.device.name}" has ${
          last === 1 ? "port 1 only" : `ports 1 to ${last}`
        }`,
      );
    }
  }

  /** What the device can do (`ibv_query_device`). */
  queryDevice(): DeviceAttr {
    const attr = allocStruct(structs.ibv_device_attr);
    check("ibv_query_device", "query device", verbs().ibv_query_device(this.unsafeHandle, attr));
    return readDeviceAttr(attr);
  }

  /**
   * What the device can do beyond that (`ibv_query_device_ex`), such as receive side scaling; zeros where the provider
   * does not tell.
   */
  queryDeviceEx(): DeviceAttrEx {
    return queryDeviceEx(this.unsafeHandle);
  }

  /**
   * Attributes of a port (`ibv_query_port`).
   *
   * @throws {RangeError} If the device has no such port.
   */
  queryPort(port: number): PortAttr {
    this.checkPort(port);
    const { ibv_port_attr } = structs;
    const attr = allocStruct(ibv_port_attr);
    const handle = this.unsafeHandle;
    // the exported symbol is frozen and fills only an older, shorter struct
    const result = hasExtendedOp(handle, "query_port")
      ? verbs().___ibv_query_port(handle, port, attr, BigInt(ibv_port_attr.size))
      : verbs().ibv_query_port(handle, port, attr);
    check("ibv_query_port", `query port ${port}`, result);
    return structToObject(attr, ibv_port_attr) as unknown as PortAttr;
  }

  /**
   * A slot of a port's GID table (`ibv_query_gid`); the zero GID where it is empty.
   *
   * @throws {RangeError} If the device has no such port.
   * @throws {VerbsError} If the index is beyond the table.
   */
  queryGid(port: number, index: number): Gid {
    this.checkPort(port);
    const bytes = new Uint8Array(structs.ibv_gid.size);
    const result = verbs().ibv_query_gid(
      this.unsafeHandle,
      port,
      integer(index, "index", 0, 0x7fff_ffff),
      bytes,
    );
    checkErrno("ibv_query_gid", `query GID ${index} of port ${port}`, result, {
      hint: () => `The port's GID table has ${this.queryPort(port).gidTblLen} slots`,
    });
    return new Gid(bytes);
  }

  /**
   * A used slot of a port's GID table with its type and network interface (`ibv_query_gid_ex`).
   *
   * @throws {RangeError} If the device has no such port.
   * @throws {VerbsError} If the slot is empty (ENODATA) or the index beyond the table (EINVAL).
   */
  queryGidEx(port: number, index: number): GidEntry {
    this.checkPort(port);
    const { ibv_gid_entry } = structs;
    const entry = allocStruct(ibv_gid_entry);
    const result = verbs()._ibv_query_gid_ex(
      this.unsafeHandle,
      port,
      uint32(index, "index"),
      entry,
      0,
      BigInt(ibv_gid_entry.size),
    );
    check("ibv_query_gid_ex", `query GID ${index} of port ${port}`, result, {
      hint: (code) =>
        code === "ENODATA"
          ? "The slot is empty: gidTable() lists those in use"
          : `The port's GID table has ${this.queryPort(port).gidTblLen} slots`,
    });
    return readGidEntry(entry, 0);
  }

  /**
   * The GIDs in use (`ibv_query_gid_table`), of one port or of all.
   *
   * @throws {RangeError} If the device has no such port.
   */
  gidTable(port?: number): GidEntry[] {
    if (port !== undefined) this.checkPort(port);
    const { ibv_gid_entry } = structs;
    const room = this.#gidSlots();
    const entries = allocStruct(ibv_gid_entry, room);
    const count = Number(
      verbs()._ibv_query_gid_table(
        this.unsafeHandle,
        entries,
        BigInt(room),
        0,
        BigInt(ibv_gid_entry.size),
      ),
    );
    if (count < 0) check("ibv_query_gid_table", "query GID table", -count);
    const used = Array.from(
      { length: count },
      (_, i) => readGidEntry(entries, i * ibv_gid_entry.size),
    );
    return port === undefined ? used : used.filter(({ portNum }) => portNum === port);
  }

  #gidSlots(): number {
    let slots = 0;
    for (let port = 1; port <= this.physPortCnt; port++) slots += this.queryPort(port).gidTblLen;
    return slots;
  }

  /**
   * A slot of a port's P_Key table (`ibv_query_pkey`), in host order; 0xffff is the default partition.
   *
   * @throws {RangeError} If the device has no such port.
   * @throws {VerbsError} If the index is beyond the table.
   */
  queryPkey(port: number, index: number): number {
    this.checkPort(port);
    const pkey = new DataView(new ArrayBuffer(2));
    const result = verbs().ibv_query_pkey(
      this.unsafeHandle,
      port,
      integer(index, "index", 0, 0x7fff_ffff),
      pkey,
    );
    checkErrno("ibv_query_pkey", `query P_Key ${index} of port ${port}`, result, {
      hint: () => `The port's P_Key table has ${this.queryPort(port).pkeyTblLen} slots`,
    });
    return pkey.getUint16(0);
  }

  /**
   * Where a P_Key stands in a port's table (`ibv_get_pkey_index`); -1 where it does not.
   *
   * @throws {RangeError} If the device has no such port.
   */
  getPkeyIndex(port: number, pkey: number): number {
    this.checkPort(port);
    const bytes = new DataView(new ArrayBuffer(2));
    bytes.setUint16(0, uint16(pkey, "pkey"));
    return verbs().ibv_get_pkey_index(this.unsafeHandle, port, bytes.getUint16(0, true));
  }

  /** Makes a protection domain (`ibv_alloc_pd`). */
  allocPd(): ProtectionDomain {
    return ProtectionDomain.alloc(this);
  }

  /** Makes a completion channel (`ibv_create_comp_channel`), for several completion queues to share. */
  createCompletionChannel(): CompletionChannel {
    return CompletionChannel.create(this);
  }

  /**
   * Makes a completion queue (`ibv_create_cq`). Without a channel of its own it uses one that all such queues of this
   * context share.
   *
   * @throws {RangeError} If the size or the completion vector is out of range.
   * @throws {VerbsError} If the device refuses.
   */
  createCq(init: CqInit): CompletionQueue {
    const channel = init.channel === undefined ? this.#sharedChannel() : init.channel;
    return CompletionQueue.create(this, channel, init);
  }

  #sharedChannel(): CompletionChannel {
    if (this.#channel === undefined || this.#channel.disposed) {
      this.#channel = this.createCompletionChannel();
    }
    return this.#channel;
  }

  /**
   * Makes an indirection table, which spreads packets over work queues (`ibv_create_rwq_ind_table`).
   *
   * @throws {RangeError} If the number of work queues is not a power of two up to 8192.
   * @throws {TypeError} If a work queue is disposed or belongs to another context.
   * @throws {VerbsError} If the device refuses, or has no such tables (EOPNOTSUPP).
   */
  createRwqIndirectionTable(init: RwqIndirectionTableInit): RwqIndirectionTable {
    return RwqIndirectionTable.create(this, init);
  }

  /**
   * The address of a packet's sender, from its work completion and GRH (`ibv_init_ah_from_wc`): what a reply goes to.
   * Without {@linkcode WcFlags}.GRH in the completion the GRH is not used and may be left out; that is InfiniBand
   * within a subnet. It searches the GID table, with two system calls a slot.
   *
   * @throws {RangeError} If the device has no such port.
   * @throws {VerbsError} EINVAL for a multicast packet and where the GID it was sent to is not in the table;
   * EPROTONOSUPPORT where the GRH is none.
   */
  initAhFromWc(port: number, wc: WcAddress, grh?: Grh): AhAttr {
    return initAhFromWc(this, port, wc, grh);
  }

  /** {@linkcode Context.initAhFromWc} on another thread. Rejects with the signal's reason when that aborts. */
  initAhFromWcAsync(
    port: number,
    wc: WcAddress,
    grh?: Grh,
    options: AbortOptions = {},
  ): Promise<AhAttr> {
    return initAhFromWcAsync(this, port, wc, grh, options);
  }

  /** Destroys the native object. */
  protected override destroy(handle: IbvContext): void {
    checkErrno("ibv_close_device", "close device", verbs().ibv_close_device(handle));
  }
}

function openNamed(name: string): Context | undefined {
  return withDeviceList((devices) => {
    const device = devices.find((candidate) => deviceName(candidate) === name);
    return device === undefined ? undefined : Context.fromDevice(device);
  });
}

function fail(reason: string): never {
  const names = listDevices().map(({ name }) => name);
  const there = names.length === 0
    ? 'There is no RDMA device: load its driver, or make a soft-RoCE one with "rdma link add rxe0 type rxe netdev NETDEV"'
    : `The devices are: ${names.join(", ")}`;
  throw new Deno.errors.NotFound(`Cannot open device: ${reason}. ${there}`);
}

function readGidEntry(view: DataView<ArrayBuffer>, base: number): GidEntry {
  const { fields } = structs.ibv_gid_entry;
  return {
    gid: new Gid(fieldBytes(view, fields.gid, base)),
    gidIndex: readField(view, fields.gid_index, base),
    portNum: readField(view, fields.port_num, base),
    gidType: readField(view, fields.gid_type, base) as GidType,
    ndevIfindex: readField(view, fields.ndev_ifindex, base),
  };
}

/**
 * Address handles: the peer of a datagram.
 *
 * @module
 */

import type { IbvAh } from "../ffi/handles.ts";
import { structs } from "../ffi/layout.ts";
import { nonblocking, verbs } from "../ffi/library.ts";
import { errno } from "../ffi/errno.ts";
import { allocStruct, fieldBytes, readField, writeField } from "../ffi/struct.ts";
import type { Context } from "./context.ts";
import { check, failure } from "./errors.ts";
import { Gid } from "./gid.ts";
import { Grh } from "./grh.ts";
import { abandonable } from "./abandonable.ts";
import { describeAh, hintAh } from "./address_handle_hints.ts";
import type { ProtectionDomain } from "./protection_domain.ts";
import { Resource } from "./resource.ts";
import type { SendTracker } from "./send_tracker.ts";
import { integer, uint16, uint8 } from "./validate.ts";
import { type WcAddress, WcFlags, writeWcAddress } from "./work_completion.ts";

const { fields } = structs.ibv_ah_attr;

/** The global part of an address (`struct ibv_global_route`): what goes into the packet's GRH or IP header. */
export interface GlobalRoute {
  /** The peer's GID, or a multicast GID. */
  readonly dgid: Gid;
  /** Flow label, 20 bits. RoCE v2 may derive the UDP source port from it. */
  readonly flowLabel: number;
  /** Index of the sending port's GID to send from, 0 to 255; its type decides RoCE v1 or v2. */
  readonly sgidIndex: number;
  /** Hop limit or TTL, 0 to 255. For unicast on RoCE the kernel may put the route's own in its place. */
  readonly hopLimit: number;
  /** Traffic class or TOS, 0 to 255. */
  readonly trafficClass: number;
}

/** The address of a peer (`struct ibv_ah_attr`). */
export interface AhAttr {
  /** The global part; used where `isGlobal`. */
  readonly grh: GlobalRoute;
  /** The peer's LID; 0 on RoCE. */
  readonly dlid: number;
  /** Service level, 0 to 15. */
  readonly sl: number;
  /** Path bits to add to the port's LID. */
  readonly srcPathBits: number;
  /** Static rate (`enum ibv_rate`); 0 is the port's own. */
  readonly staticRate: number;
  /** Whether packets carry a GRH. RoCE needs one. */
  readonly isGlobal: boolean;
  /** The port to send from, from 1. */
  readonly portNum: number;
}

/** An address to make a handle for: `portNum` and either `grh` or `dlid` are needed, all else is 0 unless given. */
export interface AhAttrInit extends Partial<Omit<AhAttr, "grh" | "portNum">> {
  /** The global part. `isGlobal` follows from it being there, unless given. */
  readonly grh?: GlobalRouteInit;
  /** The port to send from, from 1. */
  readonly portNum: number;
}

/** The global part of an address to make a handle for. */
export interface GlobalRouteInit extends Partial<Omit<GlobalRoute, "dgid" | "sgidIndex">> {
  /** The peer's GID, or a multicast GID. */
  readonly dgid: Gid;
  /** Index of the sending port's GID to send from. */
  readonly sgidIndex: number;
}

/** Options of calls that may block and so run on another thread. */
export interface AbortOptions {
  /** Ends the wait. The native call cannot be stopped: what it makes afterwards is destroyed again. */
  readonly signal?: AbortSignal | undefined;
}

/** Writes an address in native layout, all fields checked and the rest zeroed. */
export function writeAhAttr(attr: AhAttrInit): DataView<ArrayBuffer> {
  const { grh } = attr;
  const isGlobal = attr.isGlobal ?? grh !== undefined;
  if (isGlobal && grh === undefined) {
    throw new TypeError("Cannot use address: isGlobal is set and grh is missing");
  }
  const view = allocStruct(structs.ibv_ah_attr);
  if (grh !== undefined) writeGlobalRoute(view, grh);
  writeField(view, fields.dlid, uint16(attr.dlid ?? 0, "dlid"));
  writeField(view, fields.sl, integer(attr.sl ?? 0, "sl", 0, 15));
  writeField(view, fields.src_path_bits, uint8(attr.srcPathBits ?? 0, "srcPathBits"));
  writeField(view, fields.static_rate, uint8(attr.staticRate ?? 0, "staticRate"));
  writeField(view, fields.is_global, Number(isGlobal));
  writeField(view, fields.port_num, uint8(attr.portNum, "portNum"));
  return view;
}

function writeGlobalRoute(view: DataView<ArrayBuffer>, grh: GlobalRouteInit): void {
  if (!(grh.dgid instanceof Gid)) {
    throw new TypeError("Cannot use address: grh.dgid is not a Gid");
  }
  fieldBytes(view, fields["grh.dgid"]).set(grh.dgid.bytes);
  writeField(view, fields["grh.flow_label"], integer(grh.flowLabel ?? 0, "flowLabel", 0, 0xf_ffff));
  writeField(view, fields["grh.sgid_index"], uint8(grh.sgidIndex, "sgidIndex"));
  writeField(view, fields["grh.hop_limit"], uint8(grh.hopLimit ?? 0, "hopLimit"));
  writeField(view, fields["grh.traffic_class"], uint8(grh.trafficClass ?? 0, "trafficClass"));
}

/** Reads an address from native layout. */
export function readAhAttr(view: DataView<ArrayBuffer>): AhAttr {
  return {
    grh: {
      dgid: new Gid(fieldBytes(view, fields["grh.dgid"])),
      flowLabel: readField(view, fields["grh.flow_label"]),
      sgidIndex: readField(view, fields["grh.sgid_index"]),
      hopLimit: readField(view, fields["grh.hop_limit"]),
      trafficClass: readField(view, fields["grh.traffic_class"]),
    },
    dlid: readField(view, fields.dlid),
    sl: readField(view, fields.sl),
    srcPathBits: readField(view, fields.src_path_bits),
    staticRate: readField(view, fields.static_rate),
    isGlobal: readField(view, fields.is_global) !== 0,
    portNum: readField(view, fields.port_num),
  };
}

function writeWc(wc: WcAddress): DataView<ArrayBuffer> {
  const view = allocStruct(structs.ibv_wc);
  writeWcAddress(view, wc);
  return view;
}

/** libibverbs reads 40 bytes even where the completion has no GRH. */
function grhBytes(grh: Grh | undefined): Uint8Array<ArrayBuffer> {
  if (grh !== undefined && !(grh instanceof Grh)) {
    throw new TypeError("Cannot use GRH: it is not a Grh");
  }
  return grh?.bytes ?? new Uint8Array(Grh.SIZE);
}

/** `ibv_init_ah_from_wc`, on this thread. */
export function initAhFromWc(
  context: Context,
  port: number,
  wc: WcAddress,
  grh: Grh | undefined,
): AhAttr {
  const attr = allocStruct(structs.ibv_ah_attr);
  const view = writeWc(wc);
  const bytes = grhBytes(grh);
  context.checkPort(port);
  const result = verbs().ibv_init_ah_from_wc(context.unsafeHandle, port, view, bytes, attr);
  if (result !== 0) throw initError(errno(), port, grh);
  return readAhAttr(attr);
}

/** `ibv_init_ah_from_wc`, on another thread. */
export async function initAhFromWcAsync(
  context: Context,
  port: number,
  wc: WcAddress,
  grh: Grh | undefined,
  { signal }: AbortOptions,
): Promise<AhAttr> {
  const attr = allocStruct(structs.ibv_ah_attr);
  const view = writeWc(wc);
  const bytes = grhBytes(grh);
  const handle = context.unsafeHandle;
  context.checkPort(port);
  return await abandonable({
    owner: context,
    signal,
    start: () => nonblocking().ibv_init_ah_from_wc(handle, port, view, bytes, attr),
    finish: (outcome) => {
      if (outcome.value !== 0) throw initError(outcome.errno, port, grh);
      return readAhAttr(attr);
    },
    discard: () => {},
  });
}

/** The error that `ibv_init_ah_from_wc` gives by that errno. */
export function initError(value: number, port: number, grh: Grh | undefined): Error {
  return failure("ibv_init_ah_from_wc", "derive address from completion", value, {
    detail: () => `port ${port}, GRH from ${grh?.sgid ?? "none"} to ${grh?.dgid ?? "none"}`,
    hint: (code) => hintInit(code, grh),
  });
}

function hintInit(code: string, grh: Grh | undefined): string | undefined {
  if (code === "EPROTONOSUPPORT") {
    return grh?.ipVersion === undefined
      ? "The GRH is neither an IPv6 nor an IPv4 header: was the receive buffer's first 40 bytes passed?"
      : `Its next header ${grh.nextHdr} is neither UDP (17) nor the InfiniBand BTH (27)`;
  }
  if (code !== "EINVAL" && code !== "ENOENT") return undefined;
  return grh?.dgid.isMulticast || isIpv4Multicast(grh)
    ? "The packet was sent to a multicast group, which cannot be the sender of a reply: make the address by hand"
    : "The GID the packet was sent to is not in the port's GID table";
}

function isIpv4Multicast(grh: Grh | undefined): boolean {
  return grh?.ipVersion === 4 && grh.dgid.bytes[12]! >> 4 === 0xe;
}

/** The handle's native address. */
export let ahAddress: (ah: AddressHandle) => bigint;

/** Notes that a send uses the handle. */
export let noteSend: (ah: AddressHandle, tracker: SendTracker, number: number) => void;

/**
 * An address handle (`struct ibv_ah`): the peer that UD sends go to. Made by {@linkcode ProtectionDomain.createAh},
 * {@linkcode ProtectionDomain.createAhFromWc} and their async forms; belongs to its protection domain.
 *
 * Sends keep it: disposed while one is in flight, it cannot be posted with any more, and its native object lives until
 * the completion of that send has been polled.
 */
export class AddressHandle extends Resource<IbvAh> {
  /** Its name in messages. */
  protected override readonly kind = "address handle";
  /** The protection domain it belongs to; queue pairs of others cannot use it. */
  readonly pd: ProtectionDomain;
  /** The address as `wr.ud.ah` takes it. */
  readonly #address: bigint;
  /** The queue pair that sent with it last, and the number of that send. */
  #tracker: SendTracker | undefined;
  #lastSend = 0;
  /** Other queue pairs that sent with it. */
  readonly #others: Map<SendTracker, number> = new Map();

  static {
    ahAddress = (ah) => ah.#address;
    noteSend = (ah, tracker, number) => {
      if (ah.#tracker !== tracker) ah.#switchTracker(tracker);
      ah.#lastSend = number;
    };
  }

  private constructor(pd: ProtectionDomain, handle: IbvAh) {
    super(handle, [pd]);
    this.pd = pd;
    this.#address = Deno.UnsafePointer.value(handle);
  }

  #switchTracker(tracker: SendTracker): void {
    if (this.#tracker !== undefined) this.#others.set(this.#tracker, this.#lastSend);
    this.#tracker = tracker;
  }

  /** Whether a send under way uses it. */
  protected override isInUse(): boolean {
    if (this.#tracker === undefined) return false;
    for (const [tracker, number] of [...this.#others, [this.#tracker, this.#lastSend] as const]) {
      if (tracker.isUnderWay(number)) {
        tracker.whenDone(number, this);
        return true;
      }
    }
    return false;
  }

  /** @ignore The way in for {@linkcode ProtectionDomain.createAh}. */
  static create(pd: ProtectionDomain, attr: AhAttrInit): AddressHandle {
    pd.context.checkPort(attr.portNum);
    const handle = verbs().ibv_create_ah(pd.unsafeHandle, writeAhAttr(attr));
    if (handle === null) throw createError(errno(), pd, attr);
    return new AddressHandle(pd, handle);
  }

  /** @ignore The way in for {@linkcode ProtectionDomain.createAhAsync}. */
  static async createAsync(
    pd: ProtectionDomain,
    attr: AhAttrInit,
    { signal }: AbortOptions,
  ): Promise<AddressHandle> {
    pd.context.checkPort(attr.portNum);
    const view = writeAhAttr(attr);
    const handle = pd.unsafeHandle;
    return await abandonable({
      owner: pd,
      signal,
      start: () => nonblocking().ibv_create_ah(handle, view),
      finish: ({ value, errno }) => {
        if (value === null) throw createError(errno, pd, attr);
        return new AddressHandle(pd, value);
      },
      discard: ({ value }) => destroyAh(value),
    });
  }

  /** @ignore The way in for {@linkcode ProtectionDomain.createAhFromWc}. */
  static createFromWc(
    pd: ProtectionDomain,
    wc: WcAddress,
    grh: Grh | undefined,
    port: number,
  ): AddressHandle {
    pd.context.checkPort(port);
    const view = writeWc(wc);
    const bytes = grhBytes(grh);
    const handle = verbs().ibv_create_ah_from_wc(pd.unsafeHandle, view, bytes, port);
    if (handle === null) throw createFromWcError(errno(), port, wc, grh);
    return new AddressHandle(pd, handle);
  }

  /** @ignore The way in for {@linkcode ProtectionDomain.createAhFromWcAsync}. */
  static async createFromWcAsync(
    pd: ProtectionDomain,
    wc: WcAddress,
    grh: Grh | undefined,
    port: number,
    { signal }: AbortOptions,
  ): Promise<AddressHandle> {
    pd.context.checkPort(port);
    const view = writeWc(wc);
    const bytes = grhBytes(grh);
    const handle = pd.unsafeHandle;
    return await abandonable({
      owner: pd,
      signal,
      start: () => nonblocking().ibv_create_ah_from_wc(handle, view, bytes, port),
      finish: ({ value, errno }) => {
        if (value === null) throw createFromWcError(errno, port, wc, grh);
        return new AddressHandle(pd, value);
      },
      discard: ({ value }) => destroyAh(value),
    });
  }

  /** Destroys the native object. */
  protected override destroy(handle: IbvAh): void {
    check("ibv_destroy_ah", "destroy address handle", verbs().ibv_destroy_ah(handle));
  }
}

function destroyAh(handle: IbvAh | null): void {
  if (handle !== null) verbs().ibv_destroy_ah(handle);
}

function createError(value: number, pd: ProtectionDomain, attr: AhAttrInit): Error {
  return failure("ibv_create_ah", "create address handle", value, {
    detail: () => describeAh(attr),
    hint: (code) => hintAh(code, pd.context, attr),
  });
}

function createFromWcError(
  value: number,
  port: number,
  wc: WcAddress,
  grh: Grh | undefined,
): Error {
  return failure("ibv_create_ah_from_wc", "create address handle from completion", value, {
    detail: () => `port ${port}, GRH from ${grh?.sgid ?? "none"} to ${grh?.dgid ?? "none"}`,
    hint: (code) => hintFromWc(code, wc, grh),
  });
}

function hintFromWc(code: string, wc: WcAddress, grh: Grh | undefined): string | undefined {
  if (code === "ETIMEDOUT") return "The sender's address could not be resolved";
  if (wc.wcFlags & WcFlags.GRH) return hintInit(code, grh);
  return code === "EINVAL"
    ? "The completion has no GRH, and on Ethernet (RoCE) every address needs one"
    : undefined;
}

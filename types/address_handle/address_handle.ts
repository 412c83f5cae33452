/**
 * Address handles: the peer of a datagram.
 *
 * @module
 */

import { errno } from "../../ffi/errno.ts";
import type { IbvAh } from "../../ffi/handles.ts";
import { nonblocking, verbs } from "../../ffi/library.ts";
import { abandonable, type AbortOptions } from "../core/abortable.ts";
import { describeAh, hintAh } from "./hints.ts";
import { type AhAttrInit, writeAhAttr } from "../address/ah_attr.ts";
import { check, failure } from "../core/errors.ts";
import type { Grh } from "../address/grh.ts";
import { grhBytes, hintInit, writeWc } from "./init_ah.ts";
import type { ProtectionDomain } from "../memory/protection_domain.ts";
import { Resource } from "../core/resource.ts";
import type { SendTracker } from "../completion/send_tracker.ts";
import { type WcAddress, WcFlags } from "../completion/work_completion.ts";

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

import type { IbvPd } from "../../ffi/handles.ts";
import { verbs } from "../../ffi/library.ts";
import type { AbortOptions } from "../core/abortable.ts";
import { AddressHandle } from "../address_handle/address_handle.ts";
import type { AhAttrInit } from "../address/ah_attr.ts";
import type { Context } from "../device/context.ts";
import { check, checkHandle } from "../core/errors.ts";
import type { Grh } from "../address/grh.ts";
import { MemoryRegion, type MemorySource } from "./memory_region.ts";
import { createQpEx, type QpInitEx } from "../queue_pair/qp_init_attr.ts";
import { type QpInit, QueuePair } from "../queue_pair/queue_pair.ts";
import { ReplyPath, type ReplyPathInit } from "../reply/reply_path.ts";
import { Resource } from "../core/resource.ts";
import type { WcAddress } from "../completion/work_completion.ts";
import { WorkQueue, type WqInit } from "../rss/work_queue.ts";

/**
 * A protection domain (`struct ibv_pd`): queue pairs, memory regions and address handles work together only within one.
 * Made by {@linkcode Context.allocPd}; disposing it disposes all of them.
 */
export class ProtectionDomain extends Resource<IbvPd> {
  /** Its name in messages. */
  protected override readonly kind = "protection domain";
  /** The device it belongs to. */
  readonly context: Context;

  private constructor(context: Context, handle: IbvPd) {
    super(handle, [context]);
    this.context = context;
  }

  /** @ignore The way in for {@linkcode Context.allocPd}. */
  static alloc(context: Context): ProtectionDomain {
    const handle = verbs().ibv_alloc_pd(context.unsafeHandle);
    return new ProtectionDomain(
      context,
      checkHandle("ibv_alloc_pd", "allocate protection domain", handle),
    );
  }

  /**
   * Registers memory with the device (`ibv_reg_mr`): that many bytes of new, zeroed, page-aligned memory, or the
   * caller's own buffer, which must then stay as it is until the region is disposed: neither transferred nor resized.
   *
   * @param source A length in bytes, or the buffer.
   * @param access {@linkcode AccessFlags}, combined. 0 suffices to send from.
   * @throws {VerbsError} If the device refuses; ENOMEM mostly means the limit on locked memory.
   * @throws {RangeError} If there is no byte to register.
   * @throws {TypeError} If the buffer is detached or resizable.
   */
  registerMemory(source: MemorySource, access: number): MemoryRegion {
    return MemoryRegion.register(this, source, access);
  }

  /**
   * Makes a queue pair (`ibv_create_qp`).
   *
   * @throws {TypeError} If a completion queue is disposed or belongs to another context.
   * @throws {VerbsError} If the device refuses.
   */
  createQp(init: QpInit): QueuePair {
    return QueuePair.create(this, init);
  }

  /**
   * Makes a queue pair (`ibv_create_qp_ex`), such as one that spreads packets over work queues.
   *
   * @throws {TypeError} If something it is to use is disposed, belongs to another context, is missing, or does not go
   * together.
   * @throws {RangeError} If a number is out of range.
   * @throws {VerbsError} If the device refuses: EPERM for raw packets without CAP_NET_RAW, EOPNOTSUPP for what it cannot
   * do.
   */
  createQpEx(init: QpInitEx): QueuePair {
    return createQpEx(this, init);
  }

  /**
   * Makes a work queue (`ibv_create_wq`).
   *
   * @throws {TypeError} If the completion queue is disposed or belongs to another context.
   * @throws {RangeError} If a number is out of range.
   * @throws {VerbsError} If the device refuses, or has no work queues (EOPNOTSUPP).
   */
  createWq(init: WqInit): WorkQueue {
    return WorkQueue.create(this, init);
  }

  /**
   * Makes an address handle (`ibv_create_ah`). On RoCE the kernel resolves the peer's link address, which may block for
   * a second: {@linkcode ProtectionDomain.createAhAsync} does so on another thread.
   *
   * @throws {RangeError} If a field is out of range or the device has no such port.
   * @throws {VerbsError} If the address does not work, with the likely cause as its hint.
   */
  createAh(attr: AhAttrInit): AddressHandle {
    return AddressHandle.create(this, attr);
  }

  /**
   * {@linkcode ProtectionDomain.createAh} on another thread. Rejects with the signal's reason when that aborts; a
   * handle that comes into being afterwards is destroyed at once.
   */
  createAhAsync(attr: AhAttrInit, options: AbortOptions = {}): Promise<AddressHandle> {
    return AddressHandle.createAsync(this, attr, options);
  }

  /**
   * Makes the address handle that a reply to a received packet takes (`ibv_create_ah_from_wc`):
   * {@linkcode Context.initAhFromWc} and then {@linkcode ProtectionDomain.createAh}. Use those two where the address is to
   * be seen or changed before.
   *
   * @throws {RangeError} If the device has no such port.
   * @throws {VerbsError} As of {@linkcode Context.initAhFromWc} and {@linkcode ProtectionDomain.createAh}.
   */
  createAhFromWc(wc: WcAddress, grh: Grh | undefined, port: number): AddressHandle {
    return AddressHandle.createFromWc(this, wc, grh, port);
  }

  /** {@linkcode ProtectionDomain.createAhFromWc} on another thread, abandoned as {@linkcode ProtectionDomain.createAhAsync} is. */
  createAhFromWcAsync(
    wc: WcAddress,
    grh: Grh | undefined,
    port: number,
    options: AbortOptions = {},
  ): Promise<AddressHandle> {
    return AddressHandle.createFromWcAsync(this, wc, grh, port, options);
  }

  /**
   * Makes a reply path: it gives the address handles of packets' senders as {@linkcode ProtectionDomain.createAhFromWc}
   * does, from a cache.
   *
   * @throws {RangeError} If the device has no such port or `maxPeers` is not positive.
   */
  createReplyPath(init: ReplyPathInit): ReplyPath {
    return ReplyPath.create(this, init);
  }

  /** Destroys the native object. */
  protected override destroy(handle: IbvPd): void {
    check("ibv_dealloc_pd", "deallocate protection domain", verbs().ibv_dealloc_pd(handle));
  }
}

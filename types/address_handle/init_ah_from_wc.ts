/** The address of a packet's sender (`ibv_init_ah_from_wc`). */

import { type AbortOptions, signalOf } from "../../internal/abort.ts";
import { errno } from "../../ffi/errno.ts";
import { structs } from "../../ffi/layout.ts";
import { nonblocking, verbs } from "../../ffi/library.ts";
import { allocStruct } from "../../ffi/struct.ts";
import { type AhAttr, ahAttrCodec } from "../address/ah_attr.ts";
import type { Grh } from "../address/grh.ts";
import type { WcAddress } from "../completion/work_completion.ts";
import { abortable } from "../core/abortable.ts";
import { instance } from "../core/checks.ts";
import { Context } from "../device/context.ts";
import { initError } from "./hints.ts";
import { readPacket } from "./packet.ts";

/**
 * Computes the address of a packet's sender from the packet's completion and GRH (`ibv_init_ah_from_wc`). A reply goes
 * to that address. The function searches the port's GID table, with two system calls a slot.
 *
 * A completion without {@linkcode WcFlags}.GRH belongs to a packet without a GRH, which only InfiniBand has. The
 * address is then the sender's LID, and `grh` is not used.
 *
 * @example The address of a sender
 * ```ts
 * import { type AhAttr, type Context, initAhFromWc } from "@rdma/ibverbs";
 * import type { MemoryRegion, WorkCompletion } from "@rdma/ibverbs";
 *
 * function senderOf(context: Context, wc: WorkCompletion, mr: MemoryRegion): AhAttr {
 *   return initAhFromWc(context, 1, wc, mr.grhAt(Number(wc.wrId))); // posted with its offset as wrId
 * }
 * ```
 *
 * @param context The device.
 * @param port The port that received the packet, counted from 1.
 * @param wc The completion of the receive.
 * @param grh The packet's GRH. It may be left out if the completion's flags lack {@linkcode WcFlags}.GRH.
 * @throws {RangeError} If the device has no such port, or an attribute of the completion is out of range.
 * @throws {TypeError} If the context is disposed.
 * @throws {VerbsError} EINVAL if the packet was sent to a multicast group, or to a GID that is not in the port's table;
 * EPROTONOSUPPORT if the GRH is no header.
 * @category Address handles
 */
export function initAhFromWc(
  context: Context,
  port: number,
  wc: WcAddress,
  grh?: Grh,
): AhAttr {
  const packet = readPacket(instance(context, Context, "context"), port, wc, grh);
  const { wcView, grhView } = packet;
  const attr = allocStruct(structs.ibv_ah_attr);
  const result = verbs().ibv_init_ah_from_wc(context.unsafeHandle, port, wcView, grhView, attr);
  if (result !== 0) throw initError(errno(), packet);
  return ahAttrCodec.read(attr);
}

/**
 * {@linkcode initAhFromWc} on another thread.
 *
 * @throws The signal's reason if it aborts.
 * @category Address handles
 */
export async function initAhFromWcAsync(
  context: Context,
  port: number,
  wc: WcAddress,
  grh?: Grh,
  options: AbortOptions = {},
): Promise<AhAttr> {
  const signal = signalOf(options);
  const packet = readPacket(instance(context, Context, "context"), port, wc, grh);
  const { wcView, grhView } = packet;
  const attr = allocStruct(structs.ibv_ah_attr);
  return await abortable({
    owner: context,
    signal,
    start: () =>
      nonblocking().ibv_init_ah_from_wc(context.unsafeHandle, port, wcView, grhView, attr),
    finish: ({ value, errno }) => {
      if (value !== 0) throw initError(errno, packet);
      return ahAttrCodec.read(attr);
    },
    discard: () => {},
  });
}

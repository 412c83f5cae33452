import { withText } from "../../internal/texts.ts";
import { type AbortOptions, signalOf } from "../../wait/abort.ts";
import { inTurn } from "../../wait/turns.ts";
import { structs } from "../../ffi/layout.ts";
import { allocStruct } from "../../ffi/struct.ts";
import { type AhAttr, ahAttrCodec, type AhAttrInit } from "../address/ah_attr.ts";
import type { Grh } from "../address/grh.ts";
import type { WcAddress } from "../completion/work_completion.ts";
import { type BlockingCall, callLater, callNow } from "../core/abortable.ts";
import { instance } from "../core/checks.ts";
import { checkPort, Context } from "../device/context.ts";
import { addressError, initError } from "./hints.ts";
import { type PacketOptions, readPacket, readPacketOptions } from "./packet.ts";

/** VLAN ids have 12 bits; this one is of a port without a VLAN. */
const NO_VLAN = 0xffff;

/**
 * Computes the address of a packet's sender from the packet's completion and GRH (`ibv_init_ah_from_wc`). A reply goes
 * to that address. The function searches the port's GID table, with two system calls a slot.
 *
 * A completion without `WcFlags`.GRH belongs to a packet without a GRH, which only InfiniBand has. The
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
 * @param portNum The port that received the packet, counted from 1.
 * @param wc The completion of the receive.
 * @param grh The packet's GRH. It may be left out if the completion's flags lack `WcFlags`.GRH.
 * @throws {RangeError} If the device has no such port, or an attribute of the completion is out of range.
 * @throws {TypeError} If the context is disposed.
 * @throws {VerbsError} EINVAL if the packet was sent to a multicast group, or to a GID that is not in the port's table;
 * EPROTONOSUPPORT if the GRH is not the header of a RoCE or InfiniBand packet.
 * @category Address handles
 */
export function initAhFromWc(
  context: Context,
  portNum: number,
  wc: WcAddress,
  grh?: Grh,
): AhAttr {
  return callNow(computation(context, portNum, wc, grh));
}

/**
 * `initAhFromWc` on another thread.
 *
 * @param given The packet's GRH, or options.
 * @throws The signal's reason if it aborts.
 * @category Address handles
 */
export async function initAhFromWcAsync(
  context: Context,
  portNum: number,
  wc: WcAddress,
  given?: Grh | PacketOptions,
): Promise<AhAttr> {
  return await inTurn(async () => {
    const { grh, signal } = readPacketOptions(given, arguments[4]);
    return await callLater(computation(context, portNum, wc, grh), signal);
  });
}

function computation(
  context: Context,
  portNum: number,
  wc: WcAddress,
  grh: Grh | undefined,
): BlockingCall<"ibv_init_ah_from_wc", AhAttr> {
  const packet = readPacket(instance(context, Context, "context"), portNum, wc, grh);
  const { wcView, grhView } = packet;
  const attr = allocStruct(structs.ibv_ah_attr);
  return {
    owner: context,
    verb: "ibv_init_ah_from_wc",
    args: () => [context.unsafeHandle, portNum, wcView, grhView, attr],
    finish: ({ value, errno }) => {
      if (value !== 0) throw initError(errno, { ...packet, context });
      return withText(ahAttrCodec.read(attr));
    },
  };
}

/**
 * Resolves the link address of a peer on RoCE (`ibv_resolve_eth_l2_from_gid`). It asks the neighbour table of the kernel,
 * which may block for 3 seconds: `resolveEthL2FromGidAsync` does not block. Address handles do this themselves.
 *
 * @param context The device.
 * @param attr The address of the peer, with a GRH.
 * @returns The MAC address, 6 bytes, and the VLAN id of the sending GID; `undefined` if it has no VLAN.
 * @throws {TypeError} If an attribute has the wrong type, is missing or is unknown, or the context is disposed.
 * @throws {RangeError} If a number is out of range, or the device has no such port.
 * @throws {VerbsError} If the address cannot be resolved.
 *
 * @experimental Not tested on any device: it has only run on a library that records calls.
 * @category Address handles
 */
export function resolveEthL2FromGid(
  context: Context,
  attr: AhAttrInit,
): { readonly ethMac: Uint8Array<ArrayBuffer>; readonly vid: number | undefined } {
  return callNow(resolution(context, attr));
}

/**
 * `resolveEthL2FromGid` on another thread.
 *
 * @throws As `resolveEthL2FromGid`; the signal's reason if it aborts.
 *
 * @experimental Not tested on any device: it has only run on a library that records calls.
 * @category Address handles
 */
export async function resolveEthL2FromGidAsync(
  context: Context,
  attr: AhAttrInit,
  options: AbortOptions = {},
): Promise<ReturnType<typeof resolveEthL2FromGid>> {
  return await inTurn(async () => {
    const signal = signalOf(options);
    return await callLater(resolution(context, attr), signal);
  });
}

function resolution(
  context: Context,
  attr: AhAttrInit,
): BlockingCall<"ibv_resolve_eth_l2_from_gid", ReturnType<typeof resolveEthL2FromGid>> {
  instance(context, Context, "context");
  const { view, given } = ahAttrCodec.write(attr);
  checkPort(context, given.portNum);
  const ethMac = new Uint8Array(6);
  const vid = new Uint16Array(1);
  const verb = "ibv_resolve_eth_l2_from_gid";
  return {
    owner: context,
    verb,
    args: () => [context.unsafeHandle, view, ethMac, vid],
    finish: ({ value, errno }) => {
      if (value === 0) return { ethMac, vid: vid[0] === NO_VLAN ? undefined : vid[0] };
      // libibverbs returns a negative errno value, or -1 with errno.
      const code = value === -1 ? errno : Math.abs(value);
      throw addressError(verb, "resolve link address", code, context, view);
    },
  };
}

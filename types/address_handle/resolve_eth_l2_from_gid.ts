/** The link address of a peer (`ibv_resolve_eth_l2_from_gid`). */

import { type AbortOptions, signalOf } from "../../internal/abort.ts";
import { errno } from "../../ffi/errno.ts";
import { nonblocking, verbs } from "../../ffi/library.ts";
import { ahAttrCodec, type AhAttrInit } from "../address/ah_attr.ts";
import { abortable } from "../core/abortable.ts";
import { instance } from "../core/checks.ts";
import { checkPort, Context } from "../device/context.ts";
import { addressError } from "./hints.ts";

/** VLAN ids have 12 bits; this one is of a port without a VLAN. */
const NO_VLAN = 0xffff;

/**
 * Resolves the link address of a peer on RoCE (`ibv_resolve_eth_l2_from_gid`). It asks the neighbour table of the kernel,
 * which may block for 3 seconds: {@linkcode resolveEthL2FromGidAsync} does not block. Address handles do this themselves.
 *
 * @param context The device.
 * @param attr The address of the peer, with a GRH.
 * @returns The MAC address, 6 bytes, and the VLAN id of the sending GID; `undefined` if it has no VLAN.
 * @throws {TypeError} If an attribute has the wrong type, is missing or is unknown, or the context is disposed.
 * @throws {RangeError} If a number is out of range, or the device has no such port.
 * @throws {VerbsError} If the address cannot be resolved.
 * @category Address handles
 */
export function resolveEthL2FromGid(
  context: Context,
  attr: AhAttrInit,
): { readonly ethMac: Uint8Array<ArrayBuffer>; readonly vid: number | undefined } {
  const { view, ethMac, vid } = prepare(context, attr);
  const result = verbs().ibv_resolve_eth_l2_from_gid(context.unsafeHandle, view, ethMac, vid);
  return finish(context, { view, ethMac, vid }, result, errno());
}

/**
 * {@linkcode resolveEthL2FromGid} on another thread.
 *
 * @throws As {@linkcode resolveEthL2FromGid}; the signal's reason if it aborts.
 * @category Address handles
 */
export async function resolveEthL2FromGidAsync(
  context: Context,
  attr: AhAttrInit,
  options: AbortOptions = {},
): Promise<ReturnType<typeof resolveEthL2FromGid>> {
  const signal = signalOf(options);
  const { view, ethMac, vid } = prepare(context, attr);
  return await abortable({
    owner: context,
    signal,
    start: () => nonblocking().ibv_resolve_eth_l2_from_gid(context.unsafeHandle, view, ethMac, vid),
    finish: ({ value, errno }) => finish(context, { view, ethMac, vid }, value, errno),
    discard: () => {},
  });
}

interface Query {
  readonly view: DataView<ArrayBuffer>;
  readonly ethMac: Uint8Array<ArrayBuffer>;
  readonly vid: Uint16Array<ArrayBuffer>;
}

function prepare(context: Context, attr: AhAttrInit): Query {
  instance(context, Context, "context");
  const { view, given } = ahAttrCodec.write(attr);
  checkPort(context, given.portNum);
  return { view, ethMac: new Uint8Array(6), vid: new Uint16Array(1) };
}

function finish(
  context: Context,
  { view, ethMac, vid: [vid] }: Query,
  result: number,
  errno: number,
): ReturnType<typeof resolveEthL2FromGid> {
  if (result !== 0) {
    // libibverbs returns a negative errno value, or -1 with errno.
    const value = result === -1 ? errno : Math.abs(result);
    const verb = "ibv_resolve_eth_l2_from_gid";
    throw addressError(verb, "resolve link address", value, context, view);
  }
  return { ethMac, vid: vid === NO_VLAN ? undefined : vid };
}

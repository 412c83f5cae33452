/**
 * The address of a packet's sender (`ibv_init_ah_from_wc`).
 *
 * @module
 */

import { errno } from "../../ffi/errno.ts";
import { structs } from "../../ffi/layout.ts";
import { nonblocking, verbs } from "../../ffi/library.ts";
import { allocStruct } from "../../ffi/struct.ts";
import { abandonable, type AbortOptions } from "../core/abortable.ts";
import { type AhAttr, readAhAttr } from "../address/ah_attr.ts";
import type { Context } from "../device/context.ts";
import { failure } from "../core/errors.ts";
import { Grh } from "../address/grh.ts";
import { type WcAddress, writeWcAddress } from "../completion/work_completion.ts";

/** What `ibv_init_ah_from_wc` reads of a completion, in native layout. */
export function writeWc(wc: WcAddress): DataView<ArrayBuffer> {
  const view = allocStruct(structs.ibv_wc);
  writeWcAddress(view, wc);
  return view;
}

/** libibverbs reads 40 bytes even where the completion has no GRH. */
export function grhBytes(grh: Grh | undefined): Uint8Array<ArrayBuffer> {
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

/** The likely cause of a failure to derive an address. */
export function hintInit(code: string, grh: Grh | undefined): string | undefined {
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

/**
 * The headers that IPsec ESP puts around packets.
 *
 * @module
 */

import { structs } from "../../ffi/layout.ts";
import { bufferAddress } from "../../ffi/pointers.ts";
import { writeField } from "../../ffi/struct.ts";
import { listOf, show, snapshot } from "../core/checks.ts";
import { FILTERS } from "./flow_spec_type.ts";

/** A header of `FlowActionEspAttr.espEncap`. */
interface EncapHeader {
  readonly type: number;
  readonly val: object;
}

const { size: LINK, fields } = structs.ibv_flow_action_esp_encap;
/** The largest of the filters. */
const FILTER = structs.ibv_flow_ipv6_filter.size;
/** More headers than any packet has. */
const MOST = 8;

/** The bytes that {@linkcode writeEncap} needs. */
export const ENCAP_SIZE: number = MOST * (LINK + FILTER);

/**
 * Writes the headers as a list that native code follows.
 *
 * @param view Where to write.
 * @param base Where in `view` the list starts: {@linkcode ENCAP_SIZE} bytes.
 * @returns The address of the list; 0 if there is no header.
 */
export function writeEncap(
  view: DataView<ArrayBuffer>,
  base: number,
  headers: readonly EncapHeader[],
): bigint {
  const list = listOf(headers, "espEncap");
  if (list.length > MOST) {
    throw new RangeError(`Cannot use espEncap: it has ${list.length} headers of at most ${MOST}`);
  }
  const start = bufferAddress(view);
  list.forEach((header, i) => {
    const at = base + i * LINK;
    const fieldsAt = base + MOST * LINK + i * FILTER;
    const { type, length } = writeHeader(view, fieldsAt, header);
    writeField(view, fields.val_ptr, start + BigInt(fieldsAt), at);
    writeField(view, fields.len, length, at);
    writeField(view, fields.type, type, at);
    const isLast = i === list.length - 1;
    writeField(view, fields.next_ptr, isLast ? 0n : start + BigInt(at + LINK), at);
  });
  return list.length === 0 ? 0n : start + BigInt(base);
}

function writeHeader(
  view: DataView<ArrayBuffer>,
  at: number,
  header: EncapHeader,
): { type: number; length: number } {
  const { type, val } = snapshot(header, "header of espEncap", ["type", "val"]);
  const [layout, codec] = FILTERS.get(type) ?? [];
  if (codec === undefined) {
    throw new RangeError(`Cannot use header type ${show(type)}: it is no header of FlowSpecType`);
  }
  codec.writeTo(view, at, val);
  return { type, length: structs[layout!].fields.val.size };
}

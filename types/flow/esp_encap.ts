import { listOf, show, snapshot } from "../../internal/checks.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import { filters } from "./flow_filter.ts";

/** A header of `FlowActionEspAttr.espEncap`. */
interface EncapHeader {
  readonly type: number;
  readonly val: object;
}

interface Link {
  readonly len: number;
  readonly type: number;
}

const codec: AttributeCodec<Link, Link, { valPtr: DataView; nextPtr: DataView | undefined }> =
  codecOf("ibv_flow_action_esp_encap", "header", {
    len: {},
    type: {},
    valPtr: { pointer: true, own: true },
    nextPtr: { pointer: true, own: true },
  });

/** More headers than any packet has. */
const MOST = 8;

/**
 * Writes the headers of an action as a list of `struct ibv_flow_action_esp_encap`.
 *
 * @returns The first of them; `undefined` if there are none.
 * @throws {TypeError} If a header has the wrong type or has unknown attributes.
 * @throws {RangeError} If there are too many headers, or a number is out of range.
 */
export function writeEncap(headers: readonly EncapHeader[]): DataView<ArrayBuffer> | undefined {
  const list = listOf(headers, "espEncap");
  if (list.length > MOST) {
    throw new RangeError(`Cannot use espEncap: it has ${list.length} headers of at most ${MOST}`);
  }
  return list.map(writeHeader).reduceRight<DataView<ArrayBuffer> | undefined>(
    (nextPtr, { link, valPtr }) => codec.write(link, { valPtr, nextPtr }).view,
    undefined,
  );
}

function writeHeader(header: EncapHeader): { link: Link; valPtr: DataView<ArrayBuffer> } {
  const { type, val } = snapshot(header, "header of espEncap", ["type", "val"]);
  const [, filter] = filters().get(type) ?? [];
  if (filter === undefined) {
    throw new RangeError(`Cannot use header type ${show(type)}: it is no header of FlowSpecType`);
  }
  const { view } = filter.write(val);
  return { link: { type, len: filter.size }, valPtr: view };
}

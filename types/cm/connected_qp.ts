/** How a queue pair follows its connection from state to state. */

import type { RdmaCmId } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { allocStruct, writeField } from "../../ffi/struct.ts";
import { type BlockingCall, callLater, callNow, type Cause } from "../core/abortable.ts";
import { nameOf } from "../core/enums.ts";
import { checked } from "../core/errors.ts";
import { hintModify } from "../queue_pair/hints.ts";
import { qpAttrCodec } from "../queue_pair/qp_attr.ts";
import { QpState } from "../queue_pair/qp_enums.ts";
import type { QueuePair } from "../queue_pair/queue_pair.ts";
import { callCm } from "./errors.ts";

/** The attributes of a state, as librdmacm writes them, and their mask. */
export interface StateAttr {
  readonly qpState: QpState;
  readonly view: DataView<ArrayBuffer>;
  readonly mask: number;
}

/** Asks librdmacm for the attributes of a state. `hint` says why it may not know them. */
export function attrOf(
  id: RdmaCmId,
  qpState: QpState,
  hint?: (code: string) => string | undefined,
): StateAttr {
  const view = allocStruct(structs.ibv_qp_attr);
  writeField(view, structs.ibv_qp_attr.fields.qp_state, qpState);
  const mask = new Int32Array(1);
  const action = `find attributes of queue pair for ${nameOf(QpState, qpState)}`;
  callCm("rdma_init_qp_attr", action, [id, view, mask], hint === undefined ? {} : { hint });
  return { qpState, view, mask: mask[0]! };
}

/**
 * Moves a connected queue pair to a state with the attributes that librdmacm writes. They are passed on as they are: reading
 * and writing each of them in between took most of the time of a connection.
 */
export function moveConnected(qp: QueuePair, attr: StateAttr): void {
  callNow(moveTo(qp, attr));
}

/** {@linkcode moveConnected} on another thread. The queue pair exists until the call ends. */
export async function moveConnectedLater(
  qp: QueuePair,
  attr: StateAttr,
  cause: Cause,
  signal: AbortSignal | undefined,
): Promise<void> {
  await callLater({ ...moveTo(qp, attr), cause }, signal);
}

function moveTo(
  qp: QueuePair,
  { qpState, view, mask }: StateAttr,
): BlockingCall<"ibv_modify_qp", void> {
  const from = qp.state;
  return {
    owner: qp,
    verb: "ibv_modify_qp",
    args: () => [qp.unsafeHandle, view, mask],
    finish: ({ value }) => {
      checked("ibv_modify_qp", { fails: "code" }, value, "modify queue pair", {
        detail: () => `RC ${qp.qpNum}, to ${nameOf(QpState, qpState)}`,
        hint: (code) =>
          hintModify(code, {
            type: qp.type,
            context: qp.context,
            from,
            given: qpAttrCodec.read(view, 0, mask),
          }),
      });
    },
  };
}

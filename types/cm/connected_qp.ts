/** How a queue pair follows its connection from state to state. */

import type { RdmaCmId } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { allocStruct, writeField } from "../../ffi/struct.ts";
import type { Cause } from "../../wait/state.ts";
import { type BlockingCall, callLater, callNow } from "../core/abortable.ts";
import { nameOf } from "../core/enums.ts";
import { checked } from "../core/errors.ts";
import { instance } from "../core/checks.ts";
import { isOpen } from "../core/resource.ts";
import type { DeviceInfo } from "../device/device.ts";
import { hintModify } from "../queue_pair/hints.ts";
import { qpAttrCodec, type QpModifyAttr } from "../queue_pair/qp_attr.ts";
import { QpState, QpType } from "../queue_pair/qp_enums.ts";
import { qpCore, QueuePair } from "../queue_pair/queue_pair.ts";
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

/** Reads attributes that librdmacm has written. */
export function readStateAttr({ view, mask }: StateAttr): QpModifyAttr {
  return qpAttrCodec.read(view, 0, mask);
}

/** Asks for the attributes of a state of one connection. */
export type AttrOf = (qpState: QpState) => StateAttr;

/** Moves a queue pair as far as it can go before the peer is known. */
export function prepare(qp: QueuePair, isOfDatagrams: boolean, attr: AttrOf): void {
  const isUnprepared = qp.state === QpState.RESET;
  if (!isOfDatagrams) {
    if (isUnprepared) moveConnected(qp, attr(QpState.INIT));
    return;
  }
  if (isUnprepared) qp.modify(readStateAttr(attr(QpState.INIT)));
  if (qp.state === QpState.INIT) qp.modify({ qpState: QpState.RTR });
  if (qp.state === QpState.RTR) qp.modify({ qpState: QpState.RTS, sqPsn: 0 });
}

/** librdmacm learns what the peer may do only with the request, and connect() has moved the queue pair before that. */
export function grant(qp: QueuePair, attr: AttrOf): void {
  if (qp.state === QpState.INIT && !qpCore(qp).states.hasOwnAccess) {
    moveConnected(qp, attr(QpState.INIT));
  }
}

/** Moves a queue pair on, when the peer's number is known. */
export function complete(qp: QueuePair, attr: AttrOf): void {
  if (isBeforeRtr(qp)) moveConnected(qp, attr(QpState.RTR));
  if (qp.state !== QpState.RTS) moveConnected(qp, attr(QpState.RTS));
}

/** The part of `complete` that may block for a second, on another thread. The queue pair exists until the call ends. */
export async function beginLater(
  qp: QueuePair,
  attr: AttrOf,
  cause: Cause,
  signal: AbortSignal,
): Promise<void> {
  if (isBeforeRtr(qp)) await callLater({ ...moveTo(qp, attr(QpState.RTR)), cause }, signal);
}

/** Moves a queue pair to ERR, if the connection is its only one. */
export function stop(qp: QueuePair | undefined): void {
  if (qp === undefined || !isOpen(qp) || qp.qpType === QpType.UD) return;
  try {
    qp.modify({ qpState: QpState.ERR });
  } catch {
    // The device has gone, and the queue pair with it.
  }
}

/** Whether a queue pair has to move to RTR yet. */
function isBeforeRtr({ state }: QueuePair): boolean {
  return state !== QpState.RTR && state !== QpState.RTS;
}

/**
 * Checks that a queue pair fits the connection of an id.
 *
 * @throws {TypeError} If it is of another device or transport, or the id has no device yet.
 */
export function checkQp(
  qp: QueuePair,
  device: DeviceInfo | undefined,
  isOfDatagrams: boolean,
): void {
  instance(qp, QueuePair, "qp");
  if (device === undefined) {
    throw new TypeError("Cannot use queue pair: the id has no device yet");
  }
  const type = isOfDatagrams ? QpType.UD : QpType.RC;
  if (qp.qpType !== type) {
    throw new TypeError(
      `Cannot use queue pair: its type is ${nameOf(QpType, qp.qpType)}, and the id needs ` +
        nameOf(QpType, type),
    );
  }
  const { name } = qp.context.device;
  if (name === device.name) return;
  throw new TypeError(
    `Cannot use queue pair: it is of device "${name}", and the connection goes over "${device.name}"`,
  );
}

/**
 * Moves a connected queue pair to a state with the attributes that librdmacm writes. They are passed on as they are: reading
 * and writing each of them in between took most of the time of a connection.
 */
function moveConnected(qp: QueuePair, attr: StateAttr): void {
  callNow(moveTo(qp, attr));
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
            qpType: qp.qpType,
            context: qp.context,
            from,
            given: qpAttrCodec.read(view, 0, mask),
          }),
      });
    },
  };
}

/**
 * Events, port attributes and the clock of the stub HCA, for tests. An event of a port or of the device is readable when the
 * function returns. {@linkcode stubTest} takes all changes back. See rxe/stub_hca/README.md.
 */

import { IB_PORT, writeStub } from "./stub.ts";

/** Events of a port. */
export type PortEvent =
  | "PORT_ACTIVE"
  | "PORT_ERR"
  | "LID_CHANGE"
  | "PKEY_CHANGE"
  | "SM_CHANGE"
  | "CLIENT_REREGISTER"
  | "GID_CHANGE";

/** Events of a queue pair. QP_FATAL, QP_REQ_ERR and QP_ACCESS_ERR move it to the error state first. */
export type QpEvent =
  | "QP_FATAL"
  | "QP_REQ_ERR"
  | "QP_ACCESS_ERR"
  | "COMM_EST"
  | "SQ_DRAINED"
  | "PATH_MIG"
  | "PATH_MIG_ERR"
  | "QP_LAST_WQE_REACHED";

/** Events of a shared receive queue. */
export type SrqEvent = "SRQ_ERR" | "SRQ_LIMIT_REACHED";

/** Raises an event of a port. PORT_ERR and PORT_ACTIVE change its state, the others no attribute. */
export function raisePortEvent(event: PortEvent, port: number = IB_PORT): void {
  writeStub("event", `${event} ${port}`);
}

/** Raises IBV_EVENT_DEVICE_FATAL. */
export function raiseDeviceFatal(): void {
  writeStub("event", "DEVICE_FATAL");
}

/** Raises an event of a queue pair. */
export function raiseQpEvent(event: QpEvent, qp: { readonly qpNum: number }): void {
  writeStub("event", `${event} ${qp.qpNum}`);
}

/** Moves a work queue to the error state and raises IBV_EVENT_WQ_FATAL. */
export function raiseWqFatal(wq: { readonly wqNum: number }): void {
  writeStub("event", `WQ_FATAL ${wq.wqNum}`);
}

/** Raises IBV_EVENT_CQ_ERR of a completion queue, by the stub's number: `newest("cq")` after it was made. */
export function raiseCqErr(number: number): void {
  writeStub("event", `CQ_ERR ${number}`);
}

/** Raises an event of a shared receive queue, by the stub's number: `newest("srq")` after it was made. */
export function raiseSrqEvent(event: SrqEvent, number: number): void {
  writeStub("event", `${event} ${number}`);
}

/** Gives a port another LID and raises IBV_EVENT_LID_CHANGE. */
export function changeLid(lid: number, port: number = IB_PORT): void {
  writeStub("event", `LID_CHANGE ${port} ${lid}`);
}

/** Gives a port's subnet manager another LID and raises IBV_EVENT_SM_CHANGE. */
export function changeSmLid(lid: number, port: number = IB_PORT): void {
  writeStub("event", `SM_CHANGE ${port} ${lid}`);
}

/** Writes an entry of a port's P_Key table of 4, and raises IBV_EVENT_PKEY_CHANGE. */
export function changePkey(index: number, pkey: number, port: number = IB_PORT): void {
  writeStub("event", `PKEY_CHANGE ${port} ${index} ${pkey}`);
}

/** Writes an entry of a port's GID table of 4, and raises IBV_EVENT_GID_CHANGE. "::" empties the entry. */
export function changeGid(index: number, gid: string, port: number = IB_PORT): void {
  writeStub("event", `GID_CHANGE ${port} ${index} ${gid}`);
}

/** Sets whether a port demands a GRH in every address (IBV_QPF_GRH_REQUIRED). Contexts opened later see it. */
export function requireGrh(required: boolean, port: number = IB_PORT): void {
  writeStub("grh_required", `${port} ${Number(required)}`);
}

/** Sets the clock, in cycles of 427 MHz. It stands still. Completions have its lower 48 bits as their timestamp. */
export function setClock(cycles: bigint): void {
  writeStub("clock", `${cycles}`);
}

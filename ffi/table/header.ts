/** The functions that `verbs.h` defines and that do more than call an op. */

import type { AnyFunction } from "../function_pointer.ts";
import type {
  IbvContext,
  IbvCq,
  IbvCqEx,
  IbvMr,
  IbvMw,
  IbvPd,
  IbvQp,
  IbvSrq,
  IbvWq,
} from "../handles.ts";
import { constants, enums, type Struct, structs } from "../layout.ts";
import { libc } from "../libc.ts";
import { handleAddress, handleAt, nativeView } from "../pointers.ts";
import { readField, readNative, writeField } from "../struct.ts";
import type { Native } from "./row.ts";

const sizeOf = ({ size }: Struct): bigint => BigInt(size);

function viewOf(source: BufferSource): DataView<ArrayBuffer> {
  if (!ArrayBuffer.isView(source)) return new DataView(source);
  return new DataView(source.buffer, source.byteOffset, source.byteLength);
}

function zero(source: BufferSource): void {
  const { buffer, byteOffset, byteLength } = viewOf(source);
  new Uint8Array(buffer, byteOffset, byteLength).fill(0);
}

/** `ibv_query_device_ex` */
export function queryDeviceEx(
  { call, verbs }: Native,
): (context: IbvContext, input: BufferSource | null, attr: BufferSource) => number {
  const { fields } = structs.ibv_query_device_ex_input;
  const size = sizeOf(structs.ibv_device_attr_ex);
  return (context, input, attr) => {
    if (input !== null && readField(viewOf(input), fields.comp_mask) !== 0) return constants.EINVAL;
    const code = call(context, input, attr, size);
    if (code !== constants.EOPNOTSUPP && code !== constants.ENOSYS) return code;
    zero(attr);
    return verbs.ibv_query_device!(context, attr);
  };
}

/** `ibv_query_port` */
export function queryPort(
  { call, hasOp, verbs }: Native,
): (context: IbvContext, port_num: number, port_attr: BufferSource) => number {
  const size = sizeOf(structs.ibv_port_attr);
  return (context, port_num, port_attr) => {
    if (hasOp(context)) return call(context, port_num, port_attr, size);
    zero(port_attr);
    return verbs._compat_ibv_query_port!(context, port_num, port_attr);
  };
}

type Header = (native: Native) => AnyFunction;

/** Calls another verb with the size of a struct as its last argument. */
function sized(name: string, layout: Struct): Header {
  const size = sizeOf(layout);
  return ({ verbs }) => (...args) => verbs[name]!(...args, size);
}

/** `ibv_query_gid_ex` */
export const queryGidEx: Header = sized("_ibv_query_gid_ex", structs.ibv_gid_entry);
/** `ibv_query_gid_table` */
export const queryGidTable: Header = sized("_ibv_query_gid_table", structs.ibv_gid_entry);

/** `ibv_query_comp_cntr_caps` */
export const queryCompCntrCaps: Header = sized(
  "_ibv_query_comp_cntr_caps",
  structs.ibv_comp_cntr_caps,
);

function hasOptionalAccess(access: number): boolean {
  return (access & constants.IBV_ACCESS_OPTIONAL_RANGE) !== 0;
}

/** `ibv_reg_mr` */
export function regMr(
  { call, verbs }: Native,
): (pd: IbvPd, addr: bigint, length: bigint, access: number) => IbvMr | null {
  return (pd, addr, length, access) =>
    hasOptionalAccess(access)
      ? verbs.ibv_reg_mr_iova2!(pd, addr, length, addr, access >>> 0)
      : call(pd, addr, length, access);
}

/** `ibv_reg_mr_iova` */
export function regMrIova(
  { call, verbs }: Native,
): (pd: IbvPd, addr: bigint, length: bigint, iova: bigint, access: number) => IbvMr | null {
  return (pd, addr, length, iova, access) =>
    hasOptionalAccess(access)
      ? verbs.ibv_reg_mr_iova2!(pd, addr, length, iova, access >>> 0)
      : call(pd, addr, length, iova, access);
}

/** `ibv_bind_mw` */
export function bindMw(
  { call }: Native,
): (qp: IbvQp, mw: IbvMw, mw_bind: BufferSource) => number {
  const { fields } = structs.ibv_mw_bind;
  return (qp, mw, mw_bind) => {
    const view = viewOf(mw_bind);
    const mr = handleAt<IbvMr>(readField(view, fields["bind_info.mr"]));
    const address = readField(view, fields["bind_info.addr"]);
    const length = readField(view, fields["bind_info.length"]);
    const type = readNative(mw, structs.ibv_mw.fields.type);
    if (type !== enums.ibv_mw_type.IBV_MW_TYPE_1) return constants.EINVAL;
    if (mr === null && (address !== 0n || length !== 0n)) return constants.EINVAL;
    if (mr !== null && !haveSameDomain(mw, mr)) return constants.EPERM;
    return call(qp, mw, mw_bind);
  };
}

function haveSameDomain(mw: IbvMw, mr: IbvMr): boolean {
  return readNative(mw, structs.ibv_mw.fields.pd) === readNative(mr, structs.ibv_mr.fields.pd);
}

/** `ibv_inc_rkey`: adds one to the lowest eight bits. */
export function nextRkey(): (rkey: number) => number {
  return (rkey) => ((rkey & 0xffff_ff00) | (rkey + 1 & 0xff)) >>> 0;
}

/** `ibv_cq_ex_to_cq` */
export function cqExToCq(): (cq: IbvCqEx) => IbvCq {
  return (cq) => cq as Deno.PointerObject as IbvCq;
}

/** `ibv_create_srq_ex` */
export function createSrqEx(
  { call, verbs }: Native,
): (context: IbvContext, srq_init_attr_ex: BufferSource) => IbvSrq | null {
  const { fields } = structs.ibv_srq_init_attr_ex;
  const { IBV_SRQ_INIT_ATTR_PD: PD, IBV_SRQ_INIT_ATTR_TYPE: TYPE } = enums.ibv_srq_init_attr_mask;
  return (context, srq_init_attr_ex) => {
    const view = viewOf(srq_init_attr_ex);
    const mask = readField(view, fields.comp_mask);
    const isBasic = (mask & TYPE) === 0 ||
      readField(view, fields.srq_type) === enums.ibv_srq_type.IBV_SRQT_BASIC;
    if ((mask & PD) === 0 || (mask & ~(PD | TYPE)) !== 0 || !isBasic) {
      return call(context, srq_init_attr_ex);
    }
    return verbs.ibv_create_srq!(handleAt<IbvPd>(readField(view, fields.pd)), srq_init_attr_ex);
  };
}

/** `ibv_post_srq_ops` */
export function postSrqOps(
  { call, hasOp }: Native,
): (srq: IbvSrq, op: Deno.PointerValue, bad_op: BufferSource) => number {
  return (srq, op, bad_op) => {
    if (hasOp(srq)) return call(srq, op, bad_op);
    viewOf(bad_op).setBigUint64(0, handleAddress(op), true);
    return constants.EOPNOTSUPP;
  };
}

/** `ibv_create_qp_ex` */
export function createQpEx(
  { call, verbs }: Native,
): (context: IbvContext, qp_init_attr_ex: BufferSource) => IbvQp | null {
  const { fields } = structs.ibv_qp_init_attr_ex;
  return (context, qp_init_attr_ex) => {
    const view = viewOf(qp_init_attr_ex);
    if (readField(view, fields.comp_mask) !== enums.ibv_qp_init_attr_mask.IBV_QP_INIT_ATTR_PD) {
      return call(context, qp_init_attr_ex);
    }
    return verbs.ibv_create_qp!(handleAt<IbvPd>(readField(view, fields.pd)), qp_init_attr_ex);
  };
}

/** `ibv_is_qpt_supported` */
export function isTypeSupported(): (caps: number, qpt: number) => number {
  return (caps, qpt) => caps >>> qpt & 1;
}

/**
 * `ibv_create_wq`: the header, not the provider, sets up the counter of events and its mutex and condition variable.
 */
export function createWq(
  { call }: Native,
): (context: IbvContext, wq_init_attr: BufferSource) => IbvWq | null {
  const { fields, size } = structs.ibv_wq;
  const attr = structs.ibv_wq_init_attr.fields;
  return (context, wq_init_attr) => {
    const wq: IbvWq | null = call(context, wq_init_attr);
    if (wq === null) return null;
    const view = nativeView(wq, size);
    writeField(view, fields.wq_context, readField(viewOf(wq_init_attr), attr.wq_context));
    writeField(view, fields.events_completed, 0);
    libc().pthread_mutex_init(handleAddress(wq) + BigInt(fields.mutex.offset), null);
    libc().pthread_cond_init(handleAddress(wq) + BigInt(fields.cond.offset), null);
    return wq;
  };
}

/** `ibv_flow_label_to_udp_sport`: folds 20 bits into 14, in the range of dynamic ports. */
export function flowLabelToSport(): (fl: number) => number {
  return (fl) => (fl & 0x3fff ^ fl >>> 14 & 0x3f) | constants.IB_ROCE_UDP_ENCAP_VALID_PORT_MIN;
}

/** The GID tables and P_Key tables of a device's ports. */

import type { IbvContext } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { allocStruct, fieldBytes, readField } from "../../ffi/struct.ts";
import { Gid, type GidEntry, type GidType } from "../address/gid.ts";
import { integer, uint16, uint32 } from "../core/checks.ts";
import { check, checkErrno } from "../core/errors.ts";
import { queryPort } from "./port.ts";

/** Queries a slot of a GID table (`ibv_query_gid`). */
export function queryGid(context: IbvContext, port: number, index: number): Gid {
  integer(index, "index", 0, 0x7fff_ffff);
  const bytes = new Uint8Array(structs.ibv_gid.size);
  const result = verbs().ibv_query_gid(context, port, index, bytes);
  checkErrno("ibv_query_gid", `query GID ${index} of port ${port}`, result, {
    hint: () => gidTableLength(context, port),
  });
  return new Gid(bytes);
}

/** Queries a used slot of a GID table (`ibv_query_gid_ex`). */
export function queryGidEx(context: IbvContext, port: number, index: number): GidEntry {
  uint32(index, "index");
  const entry = allocStruct(structs.ibv_gid_entry);
  const result = verbs().ibv_query_gid_ex(context, port, index, entry, 0);
  check("ibv_query_gid_ex", `query GID ${index} of port ${port}`, result, {
    hint: (code) =>
      code === "ENODATA"
        ? "The slot is empty: gidTable() lists the used slots"
        : gidTableLength(context, port),
  });
  return readGidEntry(entry, 0);
}

/** Lists the used slots of the GID tables of all ports (`ibv_query_gid_table`). */
export function queryGidTable(context: IbvContext, physPortCnt: number): GidEntry[] {
  let slots = 0;
  for (let port = 1; port <= physPortCnt; port++) slots += queryPort(context, port).gidTblLen;
  const entries = allocStruct(structs.ibv_gid_entry, slots);
  const count = Number(verbs().ibv_query_gid_table(context, entries, BigInt(slots), 0));
  if (count < 0) check("ibv_query_gid_table", "query GID table", count);
  return Array.from(
    { length: count },
    (_, i) => readGidEntry(entries, i * structs.ibv_gid_entry.size),
  );
}

function gidTableLength(context: IbvContext, port: number): string {
  return `The port's GID table has ${queryPort(context, port).gidTblLen} slots`;
}

function readGidEntry(view: DataView<ArrayBuffer>, base: number): GidEntry {
  const { fields } = structs.ibv_gid_entry;
  return {
    gid: new Gid(fieldBytes(view, fields.gid, base)),
    gidIndex: readField(view, fields.gid_index, base),
    portNum: readField(view, fields.port_num, base),
    gidType: readField(view, fields.gid_type, base) as GidType,
    ndevIfindex: readField(view, fields.ndev_ifindex, base),
  };
}

/** Queries a slot of a P_Key table (`ibv_query_pkey`). The result is in host order. */
export function queryPkey(context: IbvContext, port: number, index: number): number {
  integer(index, "index", 0, 0x7fff_ffff);
  const pkey = new DataView(new ArrayBuffer(2));
  const result = verbs().ibv_query_pkey(context, port, index, pkey);
  checkErrno("ibv_query_pkey", `query P_Key ${index} of port ${port}`, result, {
    hint: () => `The port's P_Key table has ${queryPort(context, port).pkeyTblLen} slots`,
  });
  return pkey.getUint16(0);
}

/** Finds a P_Key in a table (`ibv_get_pkey_index`). The P_Key is in host order. */
export function getPkeyIndex(context: IbvContext, port: number, pkey: number): number {
  const bytes = new DataView(new ArrayBuffer(2));
  bytes.setUint16(0, uint16(pkey, "pkey"));
  // C takes the P_Key in network order, as the 16-bit number that its bytes are on this machine.
  return verbs().ibv_get_pkey_index(context, port, bytes.getUint16(0, true));
}

import type { Table } from "./table/row.ts";
import { type AhVerbs, ahVerbs } from "./verbs/ah.ts";
import { type CqVerbs, cqVerbs } from "./verbs/cq.ts";
import { type CqExVerbs, cqExVerbs } from "./verbs/cq_ex.ts";
import { type DeviceVerbs, deviceVerbs } from "./verbs/device.ts";
import { type DmVerbs, dmVerbs } from "./verbs/dm.ts";
import { type FlowVerbs, flowVerbs } from "./verbs/flow.ts";
import { type MrVerbs, mrVerbs } from "./verbs/mr.ts";
import { type MwVerbs, mwVerbs } from "./verbs/mw.ts";
import { type PdVerbs, pdVerbs } from "./verbs/pd.ts";
import { type PortVerbs, portVerbs } from "./verbs/port.ts";
import { type QpVerbs, qpVerbs } from "./verbs/qp.ts";
import { type QpExVerbs, qpExVerbs } from "./verbs/qp_ex.ts";
import { type SrqVerbs, srqVerbs } from "./verbs/srq.ts";
import { type WqVerbs, wqVerbs } from "./verbs/wq.ts";

/**
 * All verbs, with their C names and prototypes.
 *
 * A verb that returns a pointer returns `null` when it fails, and leaves the reason in `errno()`; so does one that
 * returns -1. Other verbs return the errno value, and 0 for success. A verb that the provider or the installed
 * libibverbs lacks fails with `EOPNOTSUPP`.
 *
 * @category Calls of verbs
 */
export interface Verbs
  extends
    AhVerbs,
    CqExVerbs,
    CqVerbs,
    DeviceVerbs,
    DmVerbs,
    FlowVerbs,
    MrVerbs,
    MwVerbs,
    PdVerbs,
    PortVerbs,
    QpExVerbs,
    QpVerbs,
    SrqVerbs,
    WqVerbs {}

let table: Table<Verbs> | undefined;

/** The row of every verb. The table is made on first use: a program that only imports the library needs none. */
export function rows(): Table<Verbs> {
  return table ??= {
    ...deviceVerbs,
    ...portVerbs,
    ...pdVerbs,
    ...mrVerbs,
    ...mwVerbs,
    ...dmVerbs,
    ...cqVerbs,
    ...cqExVerbs,
    ...qpVerbs,
    ...qpExVerbs,
    ...srqVerbs,
    ...ahVerbs,
    ...wqVerbs,
    ...flowVerbs,
  };
}

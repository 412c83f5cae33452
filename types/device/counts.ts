/** How many objects of each kind a device has. */

import type { CountOf } from "../core/class_causes.ts";
import { kindOf, lifetimeOf, type Resource } from "../core/resource.ts";
import type { Context } from "./context.ts";
import type { DeviceAttr } from "./device_attr.ts";
import type { DeviceAttrEx } from "./device_attr_ex.ts";

type Kind = readonly [
  verbs: RegExp,
  object: string,
  attribute: string,
  most: (context: Context) => number,
];

/** The verbs that make an object, what they make, and the attribute of the device that has the number. */
const KINDS: readonly Kind[] = [
  kind(/_alloc_(pd|parent_domain)$/, "protection domain", "maxPd"),
  kind(/_create_cq/, "completion queue", "maxCq"),
  kind(/_create_(qp|driver_qp)/, "queue pair", "maxQp"),
  kind(/_create_srq/, "shared receive queue", "maxSrq"),
  kind(/_reg_.*mr|_alloc_null_mr$/, "memory region", "maxMr"),
  kind(/_alloc_mw$/, "memory window", "maxMw"),
  kind(/_create_ah/, "address handle", "maxAh"),
  kind(/_attach_mcast$/, "multicast group", "maxMcastGrp"),
  extended(/_create_wq$/, "work queue", "maxWqTypeRq", ({ maxWqTypeRq }) => maxWqTypeRq),
  extended(
    /_create_rwq_ind_table$/,
    "indirection table",
    "rssCaps.maxRwqIndirectionTables",
    ({ rssCaps }) => rssCaps.maxRwqIndirectionTables,
  ),
];

/** The value that devices without such a limit report. */
const UNLIMITED = 0x7fff_ffff;

function kind(verbs: RegExp, object: string, attribute: keyof DeviceAttr): Kind {
  return [verbs, object, attribute, (context) => context.queryDevice()[attribute] as number];
}

function extended(
  verbs: RegExp,
  object: string,
  attribute: string,
  read: (attr: DeviceAttrEx) => number,
): Kind {
  return [verbs, object, attribute, (context) => read(context.queryDeviceEx())];
}

/** Returns how many objects of the kind that a verb makes the device has, if it reports a number. */
export function countsOf(context: Context): CountOf {
  return (verb) => {
    const found = KINDS.find(([verbs]) => verbs.test(verb));
    if (found === undefined) return undefined;
    const [, object, attribute, read] = found;
    const most = read(context);
    if (most <= 0 || most >= UNLIMITED) return undefined;
    return { object, attribute, most, own: countIn(context, object) };
  };
}

/** How many objects of a kind were made from a context and exist. */
function countIn(context: Context, object: string): number {
  const found = new Set<Resource>();
  const visit = (resource: Resource): void => {
    if (found.has(resource)) return;
    found.add(resource);
    lifetimeOf(resource).children.forEach(visit);
  };
  visit(context);
  return [...found].filter((resource) => kindOf(resource) === object).length;
}

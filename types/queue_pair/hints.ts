import { nameOf } from "../core/enums.ts";
import type { ProtectionDomain } from "../memory/protection_domain.ts";
import { type QpAttrInit, QpState } from "./qp_attr.ts";

/** The likely cause of a queue pair that cannot be made. */
export function hintCreate(code: string, pd: ProtectionDomain): string | undefined {
  switch (code) {
    case "EPERM":
      return "Raw packet queue pairs take the capability CAP_NET_RAW";
    case "EINVAL":
    case "ENOMEM": {
      const { maxQpWr, maxSge, maxQp } = pd.context.queryDevice();
      return `The device allows ${maxQpWr} work requests, ${maxSge} scatter/gather elements, ${maxQp} queue pairs`;
    }
  }
}

/** The likely cause of a modification that failed. */
export function hintModify(code: string, attr: QpAttrInit): string | undefined {
  const index = attr.ahAttr?.grh?.sgidIndex;
  if (index === undefined || !["ENETUNREACH", "EHOSTUNREACH", "ETIMEDOUT"].includes(code)) {
    return undefined;
  }
  return `GID index ${index} has no way to ${attr.ahAttr!.grh!.dgid}`;
}

/** The likely cause of requests that were refused. */
export function hintPost(code: string, state: QpState): string | undefined {
  if (code === "ENOMEM") {
    return "The queue is full, or the request has too many scatter/gather elements";
  }
  if (code !== "EINVAL") return undefined;
  return `The queue pair is in state ${nameOf(QpState, state)}: receives need INIT, sends RTS`;
}

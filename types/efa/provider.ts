import { bindEfa } from "../../ffi/efa.ts";
import { isEfa } from "../../internal/efa.ts";
import type { Causes } from "../core/causes.ts";
import type { Provider } from "../provider.ts";
import { EfaSenders } from "./senders.ts";

export const NO_GRH: Causes = [
  [
    "EINVAL, unknown",
    "An Elastic Fabric Adapter has no GRH, and reaches peers by their GIDs: " +
    "ReplyPath finds the handle of a sender, and an EfaCompletionQueue reports the GID of an unknown one",
  ],
];

export const NO_QUEUE_PAIR: Causes = [
  [
    "EOPNOTSUPP",
    "Elastic Fabric Adapters have queue pairs of type UD, and reliable datagrams: SrdQueuePair of @rdma/ibverbs/efa. " +
    "Each has receives of its own",
  ],
];

export const NO_SHARED_RECEIVES: Causes = [
  ["EOPNOTSUPP", "On Elastic Fabric Adapters each queue pair has receives of its own"],
];

/** What Elastic Fabric Adapters do differently. */
export const EFA: Provider = {
  drives: isEfa,
  gidReason: "an Elastic Fabric Adapter has one GID",
  causes: {
    addressWithoutGrh: NO_GRH,
    queuePair: NO_QUEUE_PAIR,
    sharedReceiveQueue: NO_SHARED_RECEIVES,
  },
  senders: (pd, portNum) => new EfaSenders(pd, portNum),
  bind: bindEfa,
};

// A valid call of everything in ./efa.

import "../efa/fake.ts";
import { EfaCompletionQueue } from "../../../efa.ts";
import { CreateCqAttrFlags, CreateCqWcFlags, SendOpsFlags } from "../../../mod.ts";
import { complete } from "./recorder_device.ts";
import type { Receiver, Recipe } from "./parts.ts";
import type { ObjectSet } from "./object_set.ts";

const capacity = { maxSendWr: 4, maxRecvWr: 4, maxSendSge: 1, maxRecvSge: 1, maxInlineData: 0 };

const srd = ({ pd, cq }: ObjectSet): unknown[] => [
  pd,
  { sendCq: cq, recvCq: cq, cap: { ...capacity }, sendOpsFlags: SendOpsFlags.RDMA_READ, sl: 8 },
];

/** The calls of ./efa. */
export const EFA_RECIPES: Readonly<Record<string, Recipe>> = {
  queryEfaDevice: ({ context }) => [context],
  efaAhNumber: ({ ah }) => [ah],
  queryEfaMr: ({ mr }) => [mr],
  "new EfaCompletionQueue": ({ context, channel, parentDomain }) => [
    context,
    {
      cqe: 4,
      channel,
      compVector: 1,
      wcFlags: CreateCqWcFlags.BYTE_LEN,
      flags: CreateCqAttrFlags.SINGLE_THREADED,
      parentDomain,
    },
  ],
  "new EfaWorkCompletionList": () => [4],
  "EfaWorkCompletionList#sgid": () => [0],
  "new SrdQueuePair": srd,
  "SrdQueuePair#activate": () => [{ qkey: 0x1111_1111, portNum: 1, pkeyIndex: 0, rnrRetry: 7 }],
};

/** The objects of ./efa. */
export const EFA_RECEIVERS: Readonly<Record<string, Receiver>> = {
  EfaWorkCompletion: ({ context, channel }) => {
    const cq = new EfaCompletionQueue(context, { cqe: 4, channel });
    complete(cq);
    return cq.poll()[0]!;
  },
};

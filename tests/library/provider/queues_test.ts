// Extended completion queues, compared with those of C.
import {
  CompletionChannel,
  CompletionQueueEx,
  CreateCqAttrFlags,
  CreateCqWcFlags,
  ParentDomain,
} from "../../../mod.ts";
import { testRequests } from "../../provider/fixture.ts";

testRequests({
  create_cq_ex: ({ context }) => {
    const channel = new CompletionChannel(context);
    const { WITH_BYTE_LEN, WITH_COMPLETION_TIMESTAMP } = CreateCqWcFlags;
    return () =>
      new CompletionQueueEx(context, {
        cqe: 64,
        channel,
        compVector: 1,
        wcFlags: WITH_BYTE_LEN | WITH_COMPLETION_TIMESTAMP,
        flags: CreateCqAttrFlags.SINGLE_THREADED,
      });
  },
  create_cq_ex_in_parent_domain: ({ context, pd }) => {
    const channel = new CompletionChannel(context);
    const parentDomain = new ParentDomain(pd);
    return () => new CompletionQueueEx(context, { cqe: 8, channel, parentDomain });
  },
  modify_cq: ({ cq }) => () => cq.modify({ moderate: { cqCount: 16, cqPeriod: 100 } }),
});

// Extended completion queues, compared with those of C.
import { CompletionChannel } from "../../../mod.ts";
import { CompletionQueueEx } from "../../../types/completion/completion_queue_ex.ts";
import { CreateCqAttrFlags, CreateCqWcFlags } from "../../../types/completion/cq_init_attr_ex.ts";
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
  modify_cq: ({ cq }) => () => cq.modify({ moderate: { cqCount: 16, cqPeriod: 100 } }),
});

// Shared receive queues and the operations on their tags, compared with those of C.
import { OpsFlags, OpsWrOpcode, SharedReceiveQueue, SrqType, XrcDomain } from "../../../mod.ts";
import { type Fixture, testRequests } from "../../provider/fixture.ts";

const SIZES = { maxWr: 32, maxSge: 2 };

function tagMatching({ pd, cq }: Fixture): SharedReceiveQueue {
  const tmCap = { maxNumTags: 8, maxOps: 4 };
  return new SharedReceiveQueue(pd, { maxWr: 16, srqType: SrqType.TM, cq, tmCap });
}

testRequests({
  srq_basic: ({ pd }) => () => {
    const srq = new SharedReceiveQueue(pd, SIZES);
    srq.modify({ maxWr: 64, srqLimit: 5 });
    srq.query();
    srq.close();
  },
  post_srq_recv: ({ pd, mr }) => {
    const srq = new SharedReceiveQueue(pd, SIZES);
    return () =>
      srq.postRecv([
        { wrId: 1, sge: [mr.slice(0, 16), mr.slice(64, 32)] },
        { wrId: 2, sge: mr.slice(128, 8) },
      ]);
  },
  srq_xrc: ({ context, pd, cq }) => {
    const xrcd = new XrcDomain(context);
    return () => new SharedReceiveQueue(pd, { maxWr: 16, srqType: SrqType.XRC, xrcd, cq }).srqNum;
  },
  srq_tm: (fixture) => () => tagMatching(fixture),
  post_srq_ops: (fixture) => {
    const srq = tagMatching(fixture);
    const { mr } = fixture;
    return () => {
      const handle = srq.postOps({
        wrId: 1,
        opcode: OpsWrOpcode.TAG_ADD,
        flags: OpsFlags.SIGNALED | OpsFlags.TM_SYNC,
        unexpectedCnt: 3,
        recvWrId: 11,
        sge: mr.slice(256, 64),
        tag: 0x1234,
        mask: 0xffff,
      });
      srq.postOps({ wrId: 2, opcode: OpsWrOpcode.TAG_DEL, handle });
      const sync = { opcode: OpsWrOpcode.TAG_SYNC, flags: OpsFlags.TM_SYNC, unexpectedCnt: 4 };
      srq.postOps({ wrId: 3, ...sync });
    };
  },
});

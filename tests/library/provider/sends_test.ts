// Work requests that are posted, one of each opcode, compared with those of C.
import {
  AccessFlags,
  incRkey,
  MemoryWindow,
  MwType,
  QpType,
  QueuePair,
  WrOpcode,
} from "../../../mod.ts";
import { testRequests } from "../../provider/fixture.ts";

const REMOTE = 0x10000;
const RKEY = 0x4242;

testRequests({
  post_send: (fixture) => {
    const qp = fixture.qp(QpType.RC);
    const { mr } = fixture;
    return () =>
      qp.postSend([
        { wrId: 1, sge: [mr.slice(0, 16), mr.slice(32, 8)], fence: true },
        {
          wrId: 0xffff_ffff_ffff_ffffn,
          opcode: WrOpcode.SEND_WITH_IMM,
          sge: mr.slice(64, 4),
          solicited: true,
          immData: 0x01020304,
        },
      ]);
  },
  post_send_inline: (fixture) => {
    const qp = fixture.qp(QpType.RC);
    const sge = fixture.mr.slice(5, 12);
    return () => qp.postSend({ wrId: 2, sge, inline: true });
  },
  post_send_ud: (fixture) => {
    const qp = fixture.qp(QpType.UD);
    const ah = fixture.ah();
    const sge = fixture.mr.slice(0, 32);
    const peer = { ah, remoteQpn: 0x123456, remoteQkey: 0x1111_1111 };
    return () => qp.postSend({ wrId: 3, sge, ...peer });
  },
  post_rdma: (fixture) => {
    const qp = fixture.qp(QpType.RC);
    const sge = fixture.mr.slice(0, 64);
    const { RDMA_WRITE, RDMA_WRITE_WITH_IMM, RDMA_READ } = WrOpcode;
    return () =>
      qp.postSend([
        { wrId: 1, opcode: RDMA_WRITE, sge, remoteAddr: REMOTE, rkey: RKEY },
        {
          wrId: 2,
          opcode: RDMA_WRITE_WITH_IMM,
          sge,
          remoteAddr: REMOTE + 8,
          rkey: RKEY,
          immData: 5,
        },
        { wrId: 3, opcode: RDMA_READ, sge, remoteAddr: REMOTE + 16, rkey: RKEY },
      ]);
  },
  post_atomics: (fixture) => {
    const qp = fixture.qp(QpType.RC);
    const sge = fixture.mr.slice(8, 8);
    const { ATOMIC_CMP_AND_SWP, ATOMIC_FETCH_AND_ADD } = WrOpcode;
    return () =>
      qp.postSend([
        {
          wrId: 1,
          opcode: ATOMIC_CMP_AND_SWP,
          sge,
          remoteAddr: REMOTE,
          rkey: RKEY,
          compareAdd: 0x1122334455667788n,
          swap: 9,
        },
        {
          wrId: 2,
          opcode: ATOMIC_FETCH_AND_ADD,
          sge,
          remoteAddr: REMOTE + 8,
          rkey: RKEY,
          compareAdd: 3,
        },
      ]);
  },
  post_invalidates: (fixture) => {
    const qp = fixture.qp(QpType.RC);
    const sge = fixture.mr.slice(0, 8);
    return () =>
      qp.postSend([
        { wrId: 1, opcode: WrOpcode.LOCAL_INV, invalidateRkey: 0x5501 },
        { wrId: 2, opcode: WrOpcode.SEND_WITH_INV, sge, invalidateRkey: 0x5502 },
      ]);
  },
  post_bind_mw: (fixture) => {
    const qp = fixture.qp(QpType.RC);
    const { pd, mr } = fixture;
    const mw = new MemoryWindow(pd, MwType.TYPE_2);
    const { BIND_MW } = WrOpcode;
    const mwAccessFlags = AccessFlags.REMOTE_READ;
    const bindInfo = { mr, addr: mr.addr + 128n, length: 256, mwAccessFlags };
    return () => qp.postSend({ wrId: 1, opcode: BIND_MW, mw, rkey: incRkey(mw.rkey), bindInfo });
  },
  post_xrc: ({ pd, cq, mr }) => {
    const cap = { maxSendWr: 8, maxSendSge: 1 };
    const qp = new QueuePair(pd, { type: QpType.XRC_SEND, sendCq: cq, cap });
    return () => qp.postSend({ wrId: 1, sge: mr.slice(0, 8), remoteSrqn: 0x77 });
  },
  post_recv: (fixture) => {
    const qp = fixture.qp(QpType.RC);
    const { mr } = fixture;
    return () => qp.postRecv([{ wrId: 1, sge: [mr.slice(0, 16), mr.slice(64, 32)] }, { wrId: 2 }]);
  },
});

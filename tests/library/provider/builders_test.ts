// Work requests that are built call by call, compared with those of C.
import {
  AccessFlags,
  incRkey,
  MemoryWindow,
  MwType,
  QpType,
  QueuePairEx,
  SendOpsFlags,
} from "../../../mod.ts";
import { Fixture } from "../../provider/fixture.ts";
import * as recorder from "../../provider/recorder.ts";
import { assertSameAsInC } from "../../provider/requests.ts";

const REMOTE = 0x10000;
const RKEY = 0x4242;
const ALL = Object.values(SendOpsFlags).reduce((all: number, flag) => all | flag, 0);

function make({ pd, cq }: Fixture, type: QpType): QueuePairEx {
  const send = { maxSendWr: 32, maxSendSge: 2, maxInlineData: 64 };
  const queues = type === QpType.XRC_SEND
    ? { cap: send }
    : { recvCq: cq, cap: { ...send, maxRecvWr: 4, maxRecvSge: 2 } };
  return new QueuePairEx(pd, { type, sendCq: cq, ...queues, sendOpsFlags: ALL });
}

/** Each prepares a request and returns the function that makes it. */
const REQUESTS: Readonly<Record<string, (fixture: Fixture) => () => unknown>> = {
  build_rc: (fixture) => {
    const rc = make(fixture, QpType.RC);
    const { mr } = fixture;
    const list = [mr.slice(0, 16), mr.slice(32, 8)] as const;
    const bytes = mr.bytes();
    const operand = Uint8Array.from({ length: 8 }, (_, i) => 8 - i);
    return () => {
      using wr = rc.wrStart();
      const requests = [
        () => wr.send().setSge(list[0]),
        () => wr.sendImm(0x01020304).setSgeList(list),
        () => wr.sendInv(0x5501).setInlineData(bytes.subarray(1, 6)),
        () => {
          const pieces = [bytes.subarray(0, 4), bytes.subarray(8, 11)];
          wr.rdmaWrite(RKEY, REMOTE).setInlineDataList(pieces);
        },
        () => wr.rdmaWriteImm(RKEY, REMOTE, 6).setSge(list[0]),
        () => wr.rdmaRead(RKEY, REMOTE).setSge(list[0]),
        () => wr.atomicCmpSwp(RKEY, REMOTE, 0x1122334455667788n, 9).setSge(list[1]),
        () => wr.atomicFetchAdd(RKEY, REMOTE, 3).setSge(list[1]),
        () => wr.atomicWrite(RKEY, REMOTE, operand),
        () => wr.localInv(0x5502),
      ];
      requests.forEach((request, i) => {
        wr.wrId = i + 1;
        request();
      });
      wr.complete();
    };
  },
  build_bind_mw: (fixture) => {
    const rc = make(fixture, QpType.RC);
    const { pd, mr } = fixture;
    const mw = new MemoryWindow(pd, MwType.TYPE_2);
    return () => {
      using wr = rc.wrStart();
      wr.wrId = 1;
      wr.bindMw(mw, incRkey(mw.rkey), {
        mr,
        addr: mr.addr + 128n,
        length: 256,
        mwAccessFlags: AccessFlags.REMOTE_READ,
      });
      wr.complete();
    };
  },
  build_ud: (fixture) => {
    const ud = make(fixture, QpType.UD);
    const ah = fixture.ah();
    const sge = fixture.mr.slice(0, 16);
    return () => {
      using wr = ud.wrStart();
      wr.wrId = 1;
      wr.send().setUdAddr(ah, 0x123456, 0x1111_1111).setSge(sge);
      wr.complete();
    };
  },
  build_xrc: (fixture) => {
    const xrc = make(fixture, QpType.XRC_SEND);
    const sge = fixture.mr.slice(0, 16);
    return () => {
      using wr = xrc.wrStart();
      wr.wrId = 1;
      wr.send().setXrcSrqn(0x77).setSge(sge);
      wr.complete();
    };
  },
  build_tso: (fixture) => {
    const raw = make(fixture, QpType.RAW_PACKET);
    const { mr } = fixture;
    return () => {
      using wr = raw.wrStart();
      wr.wrId = 1;
      wr.sendTso(mr.bytes(0, 54), 128).setSge(mr.slice(64, 512));
      wr.complete();
    };
  },
};

for (const [name, prepare] of Object.entries(REQUESTS)) {
  Deno.test(`The request ${name} is that of C in every byte`, async () => {
    using fixture = new Fixture();
    const make = prepare(fixture.whole);
    recorder.take();
    make();
    await assertSameAsInC(recorder.take(), name);
  });
}

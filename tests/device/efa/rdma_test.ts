// RDMA over reliable datagrams, on the stub: by the builder, longer than a message can be, in any order.

import { assertEquals } from "@std/assert";
import { EfaDeviceCaps, queryEfaDevice } from "../../../efa.ts";
import { type AddressHandle, SendOpsFlags, WcStatus, type WrBuilder } from "../../../mod.ts";
import { assertFails } from "../stub.ts";
import { efaTest, End, type Fabric, QKEY, take } from "./adapters.ts";

const { RDMA_READ, RDMA_WRITE, RDMA_WRITE_WITH_IMM } = SendOpsFlags;
/** More than a message can have. */
const LONG = 10_000;

/** An end that reads and writes memory of the other one, which knows it. */
class Access {
  readonly own: End;
  readonly peer: End;
  readonly ah: AddressHandle;

  constructor({ left, right }: Fabric, sendOpsFlags: number) {
    this.own = new End(left, undefined, sendOpsFlags);
    this.peer = new End(right);
    this.ah = left.to(right);
    right.to(left);
  }

  get memory(): Uint8Array {
    return this.own.adapter.mr.bytes;
  }

  get remote(): Uint8Array {
    return this.peer.adapter.mr.bytes;
  }

  /** Begins a request on a part of the memory of both, at the same place. */
  request(wr: WrBuilder, begin: "rdmaRead" | "rdmaWrite", place: number, length: number): void {
    const { addr, rkey } = this.peer.adapter.mr;
    wr.wrId = place;
    wr[begin](rkey, addr + BigInt(place)).setUdAddr(this.ah, this.peer.qp.qpNum, QKEY)
      .setSge(this.own.adapter.mr.sge(place, length));
  }

  /** One request alone. Gives the status of its completion. */
  async run(begin: "rdmaRead" | "rdmaWrite", length: number): Promise<WcStatus> {
    const wr = this.own.qp.wrStart();
    this.request(wr, begin, 0, length);
    wr.complete();
    return (await take(this.own.cq, 1))[0]!.status;
  }
}

/** Bytes that differ from place to place. */
function pattern(length: number, first: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => i * 7 + (i >> 8) + first);
}

/** Which of the operations libefa has here: that of rdma-core 44 only reads. */
function has(cap: number, { left }: Fabric): boolean {
  return (queryEfaDevice(left.context).deviceCaps & cap) !== 0;
}

efaTest("A read longer than any message has the bytes of the peer", async (fabric) => {
  const access = new Access(fabric, RDMA_READ);
  access.remote.set(pattern(LONG + 1, 1));
  access.memory.fill(0);
  assertEquals(await access.run("rdmaRead", LONG), WcStatus.SUCCESS);
  assertEquals(access.memory.slice(0, LONG), pattern(LONG, 1));
  assertEquals(access.memory[LONG], 0);
});

efaTest("A write has the bytes of this side, where libefa knows it", async (fabric) => {
  const writes = RDMA_WRITE | RDMA_WRITE_WITH_IMM;
  const make = (): Access => new Access(fabric, writes);
  if (!has(EfaDeviceCaps.RDMA_WRITE, fabric)) {
    return void assertFails(make, "efadv_create_qp_ex", "EOPNOTSUPP");
  }
  const access = make();
  access.memory.set(pattern(LONG + 1, 2));
  access.remote.fill(0);
  assertEquals(await access.run("rdmaWrite", LONG), WcStatus.SUCCESS);
  assertEquals(access.remote.slice(0, LONG), pattern(LONG, 2));
  assertEquals(access.remote[LONG], 0);
});

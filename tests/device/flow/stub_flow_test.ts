// Steering rules through libmlx4 and the kernel, as the stub HCA gets them.
import { assertEquals } from "@std/assert";
import { Flow, FlowSpecType, QpType } from "../../../mod.ts";
import { alive, assertLastCall, ETHERNET_PORT, openStub, stubTest } from "../stub.ts";

const UDP = {
  type: FlowSpecType.UDP,
  val: { dstPort: 4791, srcPort: 1000 },
  mask: { dstPort: 0xffff },
} as const;

stubTest("Flow gives the kernel its conditions, and is removed once", () => {
  using stub = openStub();
  const qp = stub.newQp(QpType.RAW_PACKET);
  const specs = [
    {
      type: FlowSpecType.ETH,
      val: { dstMac: "02:00:00:00:00:01", etherType: 0x0800 },
      mask: { dstMac: "ff:ff:ff:ff:ff:ff", etherType: 0xffff },
    },
    {
      type: FlowSpecType.IPV4,
      val: { srcIp: "10.0.0.1" },
      mask: { srcIp: "255.255.255.255" },
    },
    UDP,
  ] as const;
  const flow = new Flow(qp, { priority: 3, port: ETHERNET_PORT, specs });
  assertLastCall("create_flow", {
    ret: 0,
    qp: qp.qpNum,
    type: 0,
    priority: 3,
    port: ETHERNET_PORT,
    flags: 0,
    specs: [
      {
        type: 0x20,
        val: "02000000000100000000000008000000",
        mask: "ffffffffffff000000000000ffff0000",
      },
      { type: 0x30, val: "0a0000010000000000000000", mask: "ffffffff0000000000000000" },
      { type: 0x41, val: "12b703e8", mask: "ffff0000" },
    ],
  });
  assertEquals(alive().flows, 1);
  flow.close();
  flow.close();
  assertEquals(alive().flows, 0);
});

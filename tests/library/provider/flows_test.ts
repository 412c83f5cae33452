// Flow rules with every specification, actions and counters, compared with those of C.
import {
  CounterDescription,
  Counters,
  Flow,
  FlowActionEsp,
  FlowActionEspFlags,
  FlowAttrType,
  FlowFlags,
  type FlowSpec,
  FlowSpecType,
  QpType,
  ReadCountersFlags,
} from "../../../mod.ts";
import { type Fixture, type Request, testRequests } from "../../provider/fixture.ts";

/** A rule of some specifications on a raw queue pair. */
function rule(specs: readonly FlowSpec[], attr: object = { priority: 7, port: 1 }): Request {
  return (fixture) => {
    const qp = fixture.qp(QpType.RAW_PACKET);
    return () => new Flow(qp, { port: 1, ...attr, specs });
  };
}

function esp({ context }: Fixture): FlowActionEsp {
  return new FlowActionEsp(context, {
    espAttr: {
      spi: 0x11,
      seq: 8,
      tfcPad: 3,
      hardLimitPkts: 2n ** 40n,
      flags: FlowActionEspFlags.FULL_OFFLOAD | FlowActionEspFlags.ENCRYPT,
    },
    keymat: {
      iv: 0x0102030405060708n,
      salt: 0x99,
      icvLen: 16,
      aesKey: Uint8Array.from({ length: 16 }, (_, i) => i),
    },
    replaySize: 64,
    esn: 5,
  });
}

testRequests({
  flow_ipv4_udp: (fixture) => {
    const qp = fixture.qp(QpType.RAW_PACKET);
    return () => {
      const flow = new Flow(qp, {
        priority: 7,
        port: 1,
        flags: FlowFlags.DONT_TRAP,
        specs: [
          {
            type: FlowSpecType.ETH,
            val: {
              dstMac: "02:00:00:00:00:01",
              srcMac: "02:0:0:0:0:2",
              etherType: 0x0800,
              vlanTag: 5,
            },
            mask: { dstMac: "ff:ff:ff:ff:ff:ff", etherType: 0xffff, vlanTag: 0xfff },
          },
          {
            type: FlowSpecType.IPV4,
            val: { srcIp: "10.0.0.1" },
            mask: { srcIp: "255.255.255.255" },
          },
          { type: FlowSpecType.UDP, val: { dstPort: 4791 }, mask: { dstPort: 0xffff } },
          { type: FlowSpecType.ACTION_TAG, tagId: 0x123456 },
        ],
      });
      flow.close();
    };
  },
  flow_ipv4_ext_tcp: rule([
    {
      type: FlowSpecType.IPV4_EXT,
      val: { dstIp: "10.0.0.2", proto: 6, tos: 4, ttl: 64, flags: 2 },
      mask: { dstIp: "255.255.255.255", proto: 255, tos: 252, ttl: 255, flags: 7 },
    },
    { type: FlowSpecType.TCP, val: { srcPort: 80 }, mask: { srcPort: 0xffff } },
    { type: FlowSpecType.ACTION_DROP },
  ]),
  flow_ipv6_esp: rule([
    {
      type: FlowSpecType.IPV6,
      val: {
        srcIp: "fe80::1",
        flowLabel: 0x12345,
        nextHdr: 50,
        trafficClass: 8,
        hopLimit: 64,
      },
      mask: {
        srcIp: "ffff::ff",
        flowLabel: 0xfffff,
        nextHdr: 255,
        trafficClass: 255,
        hopLimit: 255,
      },
    },
    {
      type: FlowSpecType.ESP,
      val: { spi: 7, seq: 9 },
      mask: { spi: 0xffffffff, seq: 0xffffffff },
    },
  ]),
  flow_tunnels: rule([
    { type: FlowSpecType.VXLAN_TUNNEL, val: { tunnelId: 0x1234 }, mask: { tunnelId: 0xffffff } },
    {
      type: FlowSpecType.GRE,
      val: { cKsRes0Ver: 0x2000, protocol: 0x0800, key: 3 },
      mask: { cKsRes0Ver: 0xb007, protocol: 0xffff, key: 0xffffffff },
    },
    { type: FlowSpecType.MPLS, val: { label: 0x12345000 }, mask: { label: 0xfffff000 } },
    {
      type: FlowSpecType.IPV4,
      inner: true,
      val: { dstIp: "10.0.0.3" },
      mask: { dstIp: "255.255.255.0" },
    },
  ]),
  flow_sniffer: rule([], { type: FlowAttrType.SNIFFER }),
  flow_action_esp: (fixture) => () => {
    const action = esp(fixture);
    action.modify({ esn: 6 });
    action.close();
  },
  flow_action_esp_encap: (fixture) => {
    const action = esp(fixture);
    const outer = { srcIp: "10.0.0.1", dstIp: "10.0.0.2" };
    const ports = { dstPort: 4500, srcPort: 4500 };
    return () =>
      action.modify({
        espEncap: [
          { type: FlowSpecType.IPV4, val: outer },
          { type: FlowSpecType.UDP, val: ports },
        ],
      });
  },
  flow_with_action: (fixture) => {
    const action = esp(fixture);
    return rule([{ type: FlowSpecType.ACTION_HANDLE, action }])(fixture);
  },
  counters: (fixture) => {
    const qp = fixture.qp(QpType.RAW_PACKET);
    return () => {
      const counters = new Counters(fixture.context);
      counters.attach({ counterDesc: CounterDescription.PACKETS, index: 0 });
      counters.attach({ counterDesc: CounterDescription.BYTES, index: 1 });
      const specs = [{ type: FlowSpecType.ACTION_COUNT, counters }] as const;
      const flow = new Flow(qp, { priority: 7, port: 1, specs });
      counters.read(2, ReadCountersFlags.PREFER_CACHED);
      flow.close();
      counters.close();
    };
  },
});

// What a fabric needs, and who decides it, in each way of connecting: what queue pairs and address handles have afterwards.
import * as recorder from "../../provider/recorder.ts";
import { lastQpAttr } from "../efa/fake.ts";
import { assertEquals, assertRejects } from "@std/assert";
import { stub } from "@std/testing/mock";
import { structs } from "../../../ffi/layout.ts";
import { Mtu, type QpAttr, QueuePair, TransportType } from "../../../mod.ts";
import {
  connectRc,
  type FabricOptions,
  listenRc,
  listenSrd,
  listenUd,
  type RcAddress,
  type RcConn,
  type RcOptions,
  type UdConn,
} from "../../../net/mod.ts";
import type { RecordedStruct } from "../../provider/records.ts";
import { test as testOn } from "../cm/fake.ts";
import { UdBed } from "./recorder_ud.ts";

const device = "recorder0";
const FEW = { credits: 2, sendDepth: 2, maxMessage: 64, keepAlive: 0 };

type Ends = readonly [RcConn, RcConn];

/** The ways to connect. */
const WAYS: Readonly<Record<string, (options: RcOptions) => Promise<Ends>>> = {
  "TCP": async (options) => {
    await using listener = await listenRc({ device, ...FEW, ...options });
    const tcpPort = listener.addr.port;
    const connecting = connectRc({ device, tcpPort, ...FEW, ...options });
    return await Promise.all([connecting, listener.accept()]);
  },
  "exchange": async (options) => {
    const [one, two] = [Promise.withResolvers<RcAddress>(), Promise.withResolvers<RcAddress>()];
    const connect = (own: typeof one, other: typeof one): Promise<RcConn> =>
      connectRc({
        ...{ device, ...FEW, ...options },
        exchange: (address) => {
          own.resolve(address);
          return other.promise;
        },
      });
    return await Promise.all([connect(one, two), connect(two, one)]);
  },
  "port": async (options) => {
    await using listener = await listenRc({ port: 7471, ...FEW, ...options });
    const connecting = connectRc({ hostname: "host", port: 7471, ...FEW, ...options });
    return await Promise.all([connecting, listener.accept()]);
  },
};

/** What the queue pairs of both ends say when they are connected. */
async function connected(way: string, options: RcOptions): Promise<QpAttr[]> {
  const qps = new Set<QueuePair>();
  const { modify } = QueuePair.prototype;
  using _ = stub(QueuePair.prototype, "modify", function (this: QueuePair, attr): void {
    qps.add(this);
    modify.call(this, attr);
  });
  const ends = await WAYS[way]!(options);
  const attrs = [...qps].map((qp) => qp.query().attr);
  for (const end of ends) await end.close();
  return attrs;
}

/** What each end decides for itself, however it is connected. */
function ownOf(attr: QpAttr): Record<string, unknown> {
  const { timeout, retryCnt, rnrRetry, minRnrTimer, pathMtu } = attr;
  return { timeout, retryCnt, rnrRetry, minRnrTimer, pathMtu };
}

/** What the way decides where the options do not. */
function pathOf({ ahAttr, maxRdAtomic, maxDestRdAtomic }: QpAttr): Record<string, unknown> {
  const { grh: { trafficClass, hopLimit, flowLabel }, sl, staticRate } = ahAttr;
  return { trafficClass, sl, hopLimit, flowLabel, staticRate, maxRdAtomic, maxDestRdAtomic };
}

const OWN = { timeout: 17, retryCnt: 6, rnrRetry: 6, minRnrTimer: 14, pathMtu: Mtu[4096] };
const FABRIC = { trafficClass: 106, sl: 3 };
/** The device serves as many; the stand-in of librdmacm has agreed on less. */
const READS = { maxRdAtomic: 16, maxDestRdAtomic: 16 };
const AGREED = { maxRdAtomic: 8, maxDestRdAtomic: 8 };
const OVER_TCP = { trafficClass: 0, sl: 0, hopLimit: 64, flowLabel: 0, staticRate: 0, ...READS };
const BY_CM = { ...OVER_TCP, flowLabel: 0x12345, staticRate: 3, ...AGREED };
const PATHS: Readonly<Record<string, Record<string, unknown>>> = {
  TCP: OVER_TCP,
  exchange: OVER_TCP,
  port: BY_CM,
};

for (const way of Object.keys(WAYS)) {
  testOn(`Both ends that connect by ${way} have the attributes of the table`, async (bed) => {
    bed.connect("IPv4");
    bed.net.state(undefined, Mtu[4096]);
    for (
      const options of [{}, { ackTimeout: 15, retryCnt: 2 }, { trafficClass: 0, sl: 0 }, FABRIC]
    ) {
      const attrs = await connected(way, options);
      assertEquals(attrs.length, 2);
      const { ackTimeout: timeout = 17, retryCnt = 6, ...fabric }: RcOptions = options;
      for (const attr of attrs) {
        assertEquals(ownOf(attr), { ...OWN, timeout, retryCnt }, way);
        assertEquals(pathOf(attr), { ...PATHS[way], ...fabric }, way);
      }
    }
  });

  testOn(`Both ends that connect by ${way} have the smaller MTU`, async (bed) => {
    bed.connect("IPv4");
    for (const [path, port, smaller] of [[5, 3, 3], [3, 5, 3], [1, 4, 1], [5, 5, 5]] as const) {
      // Over TCP the ports decide it.
      bed.net.state(undefined, path);
      const active = way === "port" ? port : smaller;
      recorder.answer("ibv_query_port", { active_mtu: active });
      const attrs = await connected(way, {});
      assertEquals(attrs.map(({ pathMtu }) => pathMtu), [smaller, smaller]);
    }
  });
}

testOn(
  "An end by port that has chosen no traffic class answers with that of the request",
  async (bed) => {
    bed.connect("IPv4");
    for (const [own, expected] of [[{}, 106], [{ trafficClass: 8 }, 8]] as const) {
      await using listener = await listenRc({ port: 7471, ...FEW, ...own });
      const qps = new Set<QueuePair>();
      const { modify } = QueuePair.prototype;
      using _ = stub(QueuePair.prototype, "modify", function (this: QueuePair, attr): void {
        qps.add(this);
        modify.call(this, attr);
      });
      const to = { hostname: "host", port: 7471, ...FEW, trafficClass: 106 };
      const ends = await Promise.all([connectRc(to), listener.accept()]);
      const classes = [...qps].map((qp) => qp.query().attr.ahAttr.grh.trafficClass);
      assertEquals(classes.toSorted(), [106, expected].toSorted());
      for (const end of ends) await end.close();
    }
  },
);

/** The addresses of the handles that were made since. */
function handles(): Record<string, unknown>[] {
  return recorder.takeOf("ibv_create_ah").map(({ args }) => {
    const { fields } = args.attr as RecordedStruct;
    return {
      trafficClass: fields["grh.traffic_class"],
      sl: fields.sl,
      hopLimit: fields["grh.hop_limit"],
      flowLabel: fields["grh.flow_label"],
      staticRate: fields.static_rate,
    };
  });
}

const HANDLE = { trafficClass: 0, sl: 0, hopLimit: 64, flowLabel: 0, staticRate: 0 };
const ONE = Uint8Array.of(1);

testOn(
  "Datagrams carry what the options say, to an address, to a sender and to a group",
  async (bed) => {
    bed.connect("IPv4");
    for (const options of [{}, FABRIC, { trafficClass: 255 }, { sl: 15 }]) {
      await using conn = await listenUd({ device, qkey: 7, ...options });
      await using other = await listenUd({ device, qkey: 7, trafficClass: 32, sl: 1 });
      const expected = { ...HANDLE, ...options };
      recorder.take();
      await conn.send(ONE, other.addr);
      assertEquals(handles(), [expected], "to an address");
      await other.send(ONE, conn.addr);
      const [, from] = await conn.receive();
      handles();
      await conn.send(ONE, from);
      const [reply, ...others] = handles();
      // A packet has the class of its sender, and no level.
      const answered = { ...expected, trafficClass: expected.trafficClass || 32 };
      assertEquals([reply, others], [answered, []], "to a sender");
      await conn.send(ONE, await conn.join("::ffff:239.1.2.3", { deviceOnly: true }));
      assertEquals(handles(), [expected], "to a group");
      conn.leave("::ffff:239.1.2.3");
    }
  },
);

/** Opens a socket on a recorder that is taken for an adapter. */
async function onAdapter(
  listen: (options: never) => Promise<UdConn>,
  options: FabricOptions,
): Promise<UdBed> {
  recorder.reset();
  recorder.setField("device", "transport_type", TransportType.UNSPECIFIED);
  recorder.answer("ibv_query_port", { max_msg_sz: 8928 });
  return await UdBed.open(listen as never, options as never);
}

Deno.test("listenSrd() gives its queue pair the service level; an adapter has no traffic class", async () => {
  for (const [options, sl] of [[{}, 0], [{ sl: 8 }, 8]] as const) {
    await using _ = await onAdapter(listenSrd, options);
    assertEquals(lastQpAttr().getUint8(structs.efadv_qp_init_attr.fields.sl.offset), sl);
  }
  const { NotSupported } = Deno.errors;
  await assertRejects(() => onAdapter(listenSrd, { trafficClass: 1 }), TypeError, "trafficClass");
  await assertRejects(() => onAdapter(listenSrd, { sl: 16 }), RangeError, "sl 16");
  await assertRejects(() => onAdapter(listenUd, { trafficClass: 1 }), NotSupported, "trafficClass");
  await assertRejects(() => onAdapter(listenUd, { sl: 1 }), NotSupported, "sl");
  assertEquals(recorder.live(), 0);
});

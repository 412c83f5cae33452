// The two ports of the stub HCA, which differ in every value, and the events that change them.
import { assertEquals } from "@std/assert";
import {
  type AsyncEvent,
  CompletionQueue,
  Context,
  EventType,
  Gid,
  PortState,
} from "../../../mod.ts";
import { sysfs } from "../setup.ts";
import { ETHERNET_PORT, IB_LID, IB_PORT, lastCall, STUB, stubTest, writeStub } from "../stub.ts";

const inject = (line: string): void => writeStub("event", line);
const sysfsOf = (port: number, path: string): string => sysfs(`ports/${port}/${path}`, STUB);

/** Runs with the events that come meanwhile. */
async function withEvents(
  body: (context: Context, next: () => Promise<AsyncEvent>) => Promise<void>,
): Promise<void> {
  using context = Context.open(STUB);
  const events = context.events({ signal: AbortSignal.timeout(20_000) });
  const next = async (): Promise<AsyncEvent> => (await events.next()).value as AsyncEvent;
  await body(context, next);
  await events.return();
}

stubTest("Context.queryPkey() and getPkeyIndex() tell the ports apart", () => {
  using context = Context.open(STUB);
  assertEquals(context.queryPkey(IB_PORT, 1), 0x8123);
  assertEquals(context.queryPkey(ETHERNET_PORT, 2), 0x4567);
  for (const port of [IB_PORT, ETHERNET_PORT]) {
    for (let i = 0; i < 3; i++) {
      assertEquals(context.queryPkey(port, i), Number(sysfsOf(port, `pkeys/${i}`)));
    }
  }
  assertEquals(context.getPkeyIndex(IB_PORT, 0x8123), 1);
  assertEquals(context.getPkeyIndex(IB_PORT, 0x2381), -1);
  assertEquals(context.getPkeyIndex(ETHERNET_PORT, 0x8123), -1);
});

stubTest("Context.gidTable() gives the slots of each port, and of both", () => {
  using context = Context.open(STUB);
  const tables = [IB_PORT, ETHERNET_PORT].map((port) => context.gidTable(port));
  assertEquals(context.gidTable(), tables.flat());
  for (const [i, table] of tables.entries()) {
    const port = [IB_PORT, ETHERNET_PORT][i]!;
    const slots = Array.from(
      { length: context.queryPort(port).gidTblLen },
      (_, index) => context.queryGid(port, index),
    );
    const used = slots.map((gid, index) => ({ gid, index })).filter(({ gid }) => !gid.isZero);
    assertEquals(table.map(({ gidIndex }) => gidIndex), used.map(({ index }) => index));
    for (const { gid, gidIndex, portNum } of table) {
      assertEquals(portNum, port);
      assertEquals(gid.bytes.toHex(), sysfsOf(port, `gids/${gidIndex}`).replaceAll(":", ""));
    }
  }
});

stubTest("Context.events() tells of a new LID and a new subnet manager", async () => {
  await withEvents(async (context, next) => {
    assertEquals(context.queryPort(IB_PORT).lid, IB_LID);
    const first = next();
    inject(`LID_CHANGE ${IB_PORT} 0x77`);
    assertEquals(await first, {
      type: EventType.LID_CHANGE,
      element: undefined,
      portNum: IB_PORT,
    });
    assertEquals(context.queryPort(IB_PORT).lid, 0x77);
    const smLid = context.queryPort(IB_PORT).smLid;
    inject(`SM_CHANGE ${IB_PORT} ${smLid + 1}`);
    assertEquals((await next()).type, EventType.SM_CHANGE);
    assertEquals(context.queryPort(IB_PORT).smLid, smLid + 1);
  });
});

stubTest("Context.events() tells of ports down and up, and of changed tables", async () => {
  await withEvents(async (context, next) => {
    const first = next();
    inject(`PORT_ERR ${ETHERNET_PORT}`);
    const { type, portNum } = await first;
    assertEquals([type, portNum], [EventType.PORT_ERR, ETHERNET_PORT]);
    assertEquals(context.queryPort(ETHERNET_PORT).state, PortState.DOWN);
    assertEquals(context.queryPort(IB_PORT).state, PortState.ACTIVE);
    inject(`PORT_ACTIVE ${ETHERNET_PORT}`);
    assertEquals((await next()).type, EventType.PORT_ACTIVE);
    inject(`PKEY_CHANGE ${IB_PORT} 2 0x9abc`);
    assertEquals((await next()).type, EventType.PKEY_CHANGE);
    assertEquals(context.getPkeyIndex(IB_PORT, 0x9abc), 2);
    inject(`GID_CHANGE ${IB_PORT} 2 fd00::99`);
    assertEquals((await next()).type, EventType.GID_CHANGE);
    assertEquals(context.queryGid(IB_PORT, 2), Gid.parse("fd00::99"));
  });
});

stubTest("Context.events() tells of the device's failure, and the object of an event", async () => {
  await withEvents(async (context, next) => {
    const queues = [1, 2].map(() => new CompletionQueue(context, { cqe: 7 }));
    const { cq } = lastCall("create_cq")!;
    const first = next();
    inject(`CQ_ERR ${cq}`);
    assertEquals(await first, {
      type: EventType.CQ_ERR,
      element: queues[1],
      portNum: undefined,
    });
    inject("DEVICE_FATAL");
    assertEquals(await next(), {
      type: EventType.DEVICE_FATAL,
      element: undefined,
      portNum: undefined,
    });
  });
});

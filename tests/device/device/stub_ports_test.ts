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
import { ETHERNET_PORT, IB_PORT, lastCall, STUB, stubTest, writeStub } from "../stub.ts";

const inject = (line: string): void => writeStub("event", line);

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

stubTest("Context.events() reports ports down and up, and changed tables", async () => {
  await withEvents(async (context, next) => {
    const first = next();
    inject(`PORT_ERR ${ETHERNET_PORT}`);
    const { eventType, portNum } = await first;
    assertEquals([eventType, portNum], [EventType.PORT_ERR, ETHERNET_PORT]);
    assertEquals(context.queryPort(ETHERNET_PORT).state, PortState.DOWN);
    assertEquals(context.queryPort(IB_PORT).state, PortState.ACTIVE);
    inject(`PORT_ACTIVE ${ETHERNET_PORT}`);
    assertEquals((await next()).eventType, EventType.PORT_ACTIVE);
    inject(`PKEY_CHANGE ${IB_PORT} 2 0x9abc`);
    assertEquals((await next()).eventType, EventType.PKEY_CHANGE);
    assertEquals(context.getPkeyIndex(IB_PORT, 0x9abc), 2);
    inject(`GID_CHANGE ${IB_PORT} 2 fd00::99`);
    assertEquals((await next()).eventType, EventType.GID_CHANGE);
    assertEquals(context.queryGid(IB_PORT, 2), Gid.parse("fd00::99"));
  });
});

stubTest("Context.events() reports the device's failure, and the object of an event", async () => {
  await withEvents(async (context, next) => {
    const queues = [1, 2].map(() => new CompletionQueue(context, { cqe: 7 }));
    const { cq } = lastCall("create_cq")!;
    const first = next();
    inject(`CQ_ERR ${cq}`);
    assertEquals(await first, {
      eventType: EventType.CQ_ERR,
      element: queues[1],
      portNum: undefined,
    });
    inject("DEVICE_FATAL");
    assertEquals(await next(), {
      eventType: EventType.DEVICE_FATAL,
      element: undefined,
      portNum: undefined,
    });
  });
});

// Reply paths while the stub reports events that rxe cannot: the methods a path offers follow them.
import { assertEquals, assertNotStrictEquals, assertStrictEquals } from "@std/assert";
import { Context, ProtectionDomain, ReplyPath, type WcAddress } from "../../../mod.ts";
import { until } from "../setup.ts";
import { IB_PORT, STUB, stubTest } from "../stub.ts";

const WC: WcAddress = { wcFlags: 0, slid: 7, sl: 0, dlidPathBits: 0 };
const EVENTS = "/sys/kernel/debug/stub_hca/event";

const REPORTED: [string, string, boolean][] = [
  ["LID_CHANGE", `LID_CHANGE ${IB_PORT}`, true],
  ["SM_CHANGE", `SM_CHANGE ${IB_PORT}`, true],
  ["DEVICE_FATAL", "DEVICE_FATAL", true],
  ["PKEY_CHANGE", `PKEY_CHANGE ${IB_PORT}`, false],
];
for (const [event, line, forgets] of REPORTED) {
  stubTest(
    `ReplyPath ${forgets ? "makes new handles" : "keeps its handles"} after ${event}`,
    async () => {
      using context = Context.open(STUB);
      using pd = new ProtectionDomain(context);
      using path = new ReplyPath(pd, { port: IB_PORT });
      const ah = path.to(WC);
      assertStrictEquals(path.to(WC), ah);
      Deno.writeTextFileSync(EVENTS, `${line}\n`);
      if (forgets) {
        await until("the handles forgotten", () => {
          path.refresh();
          return path.size === 0;
        });
        assertNotStrictEquals(path.to(WC), ah);
      } else assertStrictEquals(path.to(WC), ah);
      assertEquals(path.size, 1);
    },
  );
}

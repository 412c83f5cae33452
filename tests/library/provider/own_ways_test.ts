// A provider that does some things differently, as one that a row of types/providers.ts and of net/providers.ts names.

import * as recorder from "../../provider/recorder.ts";
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import type { Drives } from "../../../internal/provider_table.ts";
import {
  AddressHandle,
  Context,
  listDevices,
  ProtectionDomain,
  SharedReceiveQueue,
  VerbsError,
} from "../../../mod.ts";
import { listenUd } from "../../../net/mod.ts";
import { udProviders } from "../../../net/ud/endpoint.ts";
import { providerFacts } from "../../../types/device/provider_facts.ts";
import { senderMakers } from "../../../types/reply/senders.ts";

const drives: Drives = ({ name }) => name === "recorder1";
providerFacts.add(drives, {
  gidReason: "it has no other one",
  causes: { sharedReceiveQueue: [["EOPNOTSUPP", "This device has none"]] },
});
udProviders.add(drives, { unmanaged: "nobody manages it" });

/** The names of the recorder's two devices: the second one is that of the provider. */
function names(): [other: string, own: string] {
  recorder.reset();
  recorder.setDevices(2);
  return listDevices().map(({ name }) => name) as [string, string];
}

Deno.test("Only the devices of a provider have what is true of them", () => {
  const seen = names().map((name) => {
    using context = Context.open(name);
    using pd = new ProtectionDomain(context);
    recorder.fail("ibv_create_srq", "EOPNOTSUPP");
    const { hint } = assertThrows(() => new SharedReceiveQueue(pd, { maxWr: 1 }), VerbsError);
    return [context.recommendGid(1).reason === "it has no other one", hint?.slice(0, 20)];
  });
  assertEquals(seen, [[false, "The device, its driv"], [true, "This device has none"]]);
  assertEquals([recorder.live(), recorder.violations()], [0, []]);
});

Deno.test("A provider is like others in all that it does not say", async () => {
  const [, name] = names();
  assertEquals(senderMakers.of(listDevices()[1]!), undefined);
  {
    using context = Context.open(name);
    using pd = new ProtectionDomain(context);
    recorder.fail("ibv_create_ah", "EINVAL");
    const { hint } = assertThrows(() => new AddressHandle(pd, { portNum: 1 }), VerbsError);
    assertEquals(hint?.includes("where every address needs a GRH"), true, hint);
  }
  await using conn = await listenUd({ device: name, qkey: 7 });
  assertEquals([conn.addr.transport, conn.gidReason], ["UD", "it has no other one"]);
  const { NotSupported } = Deno.errors;
  await assertRejects(() => conn.join("239.1.2.3"), NotSupported, "nobody manages it");
});

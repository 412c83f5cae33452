// Objects as text: `console.log()` and `String()` show what an object is, and no "[object Object]".

import { assertEquals, assertMatch } from "@std/assert";
import * as recorder from "../provider/recorder.ts";
import { AddressHandle, Gid, Grh, ReplyPath, WcFlags } from "../../mod.ts";
import { ipv4, ipv6 } from "../../cli/tests/pure/packets.ts";
import { idle } from "./registry/recorder_device.ts";
import { allCalls, begin, disposeResult, type Prepared } from "./registry/calls.ts";
import { ObjectSet } from "./registry/object_set.ts";

const WC = { wcFlags: WcFlags.GRH, slid: 0, sl: 0, dlidPathBits: 0 };

Deno.test("an address handle shows whom it reaches, however it was made", async () => {
  recorder.reset();
  using set = new ObjectSet();
  const { pd } = set;
  const to = { portNum: 1, grh: { dgid: Gid.parse("10.0.0.2"), sgidIndex: 1 } };
  const address = "portNum: 1, dgid: ::ffff:10.0.0.2, sgidIndex: 1";
  using direct = new AddressHandle(pd, to);
  using later = await AddressHandle.createAsync(pd, { ...to, dlid: 7, sl: 3 });
  using ofPath = new ReplyPath(pd, { portNum: 1 }).toAddress(to);
  assertEquals(`${direct}`, `AddressHandle { device: "recorder0", ${address} }`);
  assertEquals(`${later}`, `AddressHandle { device: "recorder0", ${address}, dlid: 7, sl: 3 }`);
  assertEquals(`${ofPath}`, `${direct}`);
  const grh = new Grh(Uint8Array.fromHex("00".repeat(20) + ipv4()));
  using received = AddressHandle.fromWc(pd, 1, WC, grh);
  assertMatch(`${received}`, /portNum: 1, dgid: ::ffff:10\.0\.0\.\d/);
  assertMatch(Deno.inspect(direct), /^AddressHandle \{ .*10\.0\.0\.2.* \}$/);
});

Deno.test("a GRH shows its version, and what routers look at", () => {
  const [four, six, none] = ["00".repeat(20) + ipv4(), ipv6(27), "00".repeat(40)]
    .map((text) => new Grh(Uint8Array.fromHex(text)));
  assertMatch(
    `${four}`,
    /^Grh \{ ipVersion: 4, sgid: ::ffff:.*, dgid: ::ffff:.*, ttl: \d+, tos: \d+ \}$/,
  );
  assertMatch(
    `${six}`,
    /^Grh \{ ipVersion: 6, sgid: .*, dgid: .*, hopLimit: \d+, trafficClass: .*\}$/,
  );
  assertEquals(`${none}`, "Grh { ipVersion: undefined, sgid: ::, dgid: :: }");
  assertEquals(Deno.inspect(four), `${four}`);
});

Deno.test("attributes that the library gives have a text, which copies and JSON do not have", () => {
  recorder.reset();
  using set = new ObjectSet();
  using path = new ReplyPath(set.pd, { portNum: 1 });
  const attr = path.attr({ ...WC, wcFlags: 0, slid: 5 });
  assertMatch(`reply to ${attr}`, /^reply to \{ grh: \{ dgid: .* \}, dlid: 5, .*portNum: 1 \}$/);
  assertEquals(Object.keys(attr).includes("toString"), false);
  assertMatch(`${set.context.device}`, /^\{ name: "recorder0", .*nodeType: "CA"/);
});

// Last: what some of the calls make ends when this process does.
const LEAVES = { sanitizeOps: false, sanitizeResources: false };

Deno.test(
  "objects of each class have a text, which begins with the name of the class",
  LEAVES,
  async () => {
    const seen = new Set<unknown>();
    for (const call of allCalls()) {
      const { module, kind, owner } = call.callable;
      if (/^(cli|ffi|rss)/.test(module) || kind === "static" || kind === "function") continue;
      if (seen.has(owner)) continue;
      seen.add(owner);
      recorder.reset();
      const set = new ObjectSet();
      const ready: Prepared = await call.prepare(set);
      const object = kind === "constructor" ? begin(call, ready) as object : ready.self as object;
      const { name } = object.constructor;
      const [text, shown] = [String(object), Deno.inspect(object)];
      // A GID is its text alone.
      if (name !== "Gid") assertMatch(text, new RegExp(`^${name}\\b(?!.*\\[object)`), owner);
      assertMatch(shown, new RegExp(`^${name}\\b(?!\\(?.*\\[object)`), owner);
      disposeResult(object);
      set.close();
      await idle();
    }
  },
);

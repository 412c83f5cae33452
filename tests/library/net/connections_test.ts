// The device tests of net without a device: the recorder moves the data.
import { assertEquals } from "@std/assert";
import { LinkLayer } from "../../../mod.ts";
import { bed } from "../../device/bed.ts";
import * as recorder from "../../provider/recorder.ts";

/** Tests that need network interfaces, or a device that takes its time. */
const LEFT_OUT: readonly RegExp[] = [
  /^UdConn.receive\(\) lets timers run/,
  /^connectRc\(\) does not block while it looks/,
  /^UdConn.send\(\) to a peer that does not answer/,
  /^UdConn.close\(\) ends sends that wait for an address handle/,
  /^UdConn makes address handles again/,
  /^RcListener serves on after its address was away/,
  /^UdConn.joinMulticast\(\) receives datagrams/,
];

const FILES = [
  "rc_conn",
  "rc_hostile",
  "rc_listener",
  "rc_streams",
  "ud_conn",
  "ud_hostile",
  "ud_multicast",
];

bed.device = "recorder0";
bed.test = (name, body) => {
  if (LEFT_OUT.some((pattern) => pattern.test(name))) return;
  Deno.test(name, async () => {
    recorder.reset();
    recorder.answer("ibv_query_port", { link_layer: LinkLayer.ETHERNET });
    recorder.connect();
    await body();
    assertEquals([recorder.violations(), recorder.live()], [[], 0]);
  });
};
for (const name of FILES) await import(`../../device/net/${name}_test.ts`);

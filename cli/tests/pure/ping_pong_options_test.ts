// The command lines of the ping-pongs.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { KINDS } from "../../pingpong/kinds.ts";
import { readOptions } from "../../peer/options.ts";
import { ran } from "./terminal.ts";

Deno.test("readOptions() has the defaults of the C tools", () => {
  const datagrams = readOptions(KINDS.ud, {}, []);
  const { port, ibPort, size, rxDepth, iters, sl } = datagrams;
  assertEquals([port, ibPort, size, rxDepth, iters, sl], [18515, 1, 1024, 500, 1000, 0]);
  const { host, ibDev, gidIdx, events, chk, replyFromWc } = datagrams;
  assertEquals([host, ibDev, gidIdx], [undefined, undefined, undefined]);
  assertEquals([events, chk, replyFromWc], [false, false, false]);
  const connected = readOptions(KINDS.srq, {}, ["host"]);
  assertEquals([connected.size, connected.mtu, connected.numQp], [4096, 1024, 16]);
  assertEquals(connected.host, "host");
});

Deno.test("readOptions() prefers what is given", () => {
  const given = { "ib-port": 2, "rx-depth": 4, "gid-idx": 7, "reply-from-wc": true };
  const { ibPort, rxDepth, gidIdx, replyFromWc } = readOptions(KINDS.ud, given, []);
  assertEquals([ibPort, rxDepth, gidIdx, replyFromWc], [2, 4, 7, true]);
  assertEquals(readOptions(KINDS.srq, { "rx-depth": 16 }, []).rxDepth, 16);
});

const refused: [line: string, message: string][] = [
  ["ud -n 0", '--iters takes a whole number from 1 to 2147483647, not "0"'],
  ["ud -n ten", "--iters takes"],
  ["ud -s 1.5", "--size takes"],
  ["ud -p 65536", "--port takes a whole number from 1 to 65535"],
  ["ud -i 0", "--ib-port takes"],
  ["ud -g -1", "-1"],
  ["ud -g", "--gid-idx takes a whole number from 0 to 255, not nothing"],
  ["ud --frobnicate", '"--frobnicate" is not an option'],
  ["ud one two", "there is one host at most"],
  ["ud --num-qp=2", '"--num-qp" is not an option'],
  ["ud --timeout=2147484", "--timeout takes a whole number from 1 to 2147483, not"],
  ["ud --reply-from-wc host", "--reply-from-wc is for the server"],
  ["srq -q 257", "--num-qp takes a whole number from 1 to 256"],
  ["srq -r 15", "each of 16 queue pairs needs a receive"],
  ["rc -m 1500", "--mtu takes 256, 512, 1024, 2048 or 4096"],
  ["xrc", '"xrc" is not one of ud, rc, uc, srq'],
  ["", "it takes one of ud, rc, uc, srq"],
];

for (const [line, message] of refused) {
  Deno.test(`pingpong ${line} is refused without a device, with the status of the C tools`, async () => {
    const { status, out, err } = await ran(["pingpong", ...line.split(" ").filter(Boolean)]);
    assertEquals([status, out], [1, ""]);
    assertStringIncludes(err, message);
    assertEquals(err.endsWith("; see pingpong --help\n"), true, err);
  });
}

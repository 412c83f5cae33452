import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { connectRc, listenRc, type RcOptions, type UdOptions } from "../../../net/mod.ts";
import { readOptions } from "../../../internal/options.ts";
import { RC_RULES, type RcSettings } from "../../../net/rc/rc_options.ts";
import { readUdOptions } from "../../../net/ud/ud_options.ts";

const checkRcOptions = (options: RcOptions): RcSettings => readOptions(options, RC_RULES);

Deno.test("Options that are no numbers have their values only", () => {
  assertEquals(checkRcOptions({}).peerGid, "tcp");
  assertEquals(checkRcOptions({ peerGid: "any" }).peerGid, "any");
  for (const peerGid of ["", "all", 1, null]) {
    assertThrows(() => checkRcOptions({ peerGid } as RcOptions), TypeError, "Cannot use peerGid");
  }
  const onOutage = (): void => {};
  assertEquals(readUdOptions({ qkey: 7, onOutage }).onOutage, onOutage);
  assertEquals(typeof readUdOptions({ qkey: 7 }).onOutage, "function");
  for (const wrong of [null, "f", {}]) {
    assertThrows(
      () => readUdOptions({ qkey: 7, onOutage: wrong } as unknown as UdOptions),
      TypeError,
      "Cannot use onOutage",
    );
  }
});

const exchange = (): Promise<unknown> => Promise.reject(new Error("not reached"));
const signal = AbortSignal.abort(new RangeError("aborted"));
const MAX = 2 ** 20;
const ONE = "exactly one of tcpPort and exchange";

type Wrong = readonly [options: object, error: ErrorConstructor, message: string][];

const WRONG: Wrong = [
  [{ tcpPort: 65536 }, RangeError, "tcpPort"],
  [{ tcpPort: 5, hostname: 5 }, TypeError, "hostname"],
  [{ tcpPort: 5, signal }, RangeError, "aborted"],
];
const WRONG_LISTENERS: Wrong = [
  ...WRONG,
  ...["maxPending", "maxHandshakes", "maxPerPeer"].flatMap((name): Wrong => [
    [{ [name]: 0 }, RangeError, `${name} 0`],
    [{ [name]: MAX + 1 }, RangeError, name],
  ]),
  [{ tcpPort: -1 }, RangeError, "tcpPort"],
  [{ exchange }, TypeError, '"exchange"'],
];
const WRONG_CLIENTS: Wrong = [
  ...WRONG,
  [{}, TypeError, ONE],
  [{ tcpPort: 5, exchange }, TypeError, ONE],
  [{ exchange: 5 }, TypeError, "exchange 5: it is not a function"],
  [{ tcpPort: 0 }, RangeError, "tcpPort 0"],
  [{ tcpPort: 5, maxPending: 5 }, TypeError, '"maxPending"'],
];

Deno.test("listenRc() and connectRc() check their own options before they do anything", async () => {
  for (const [options, error, message] of WRONG_LISTENERS) {
    await assertRejects(() => listenRc(options), error, message);
  }
  for (const [options, error, message] of WRONG_CLIENTS) {
    await assertRejects(() => connectRc(options), error, message);
  }
});

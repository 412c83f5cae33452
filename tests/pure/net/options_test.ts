import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { connectRc, listenRc, type RcOptions, type UdOptions } from "../../../net/mod.ts";
import { checkRcOptions } from "../../../net/rc/rc_options.ts";
import { readUdOptions } from "../../../net/ud/ud_options.ts";

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

Deno.test("listenRc() and connectRc() check their own options before they do anything", async () => {
  const max = 2 ** 20;
  const exchange = (): Promise<unknown> => Promise.reject(new Error("not reached"));
  const wrong: [options: object, error: ErrorConstructor, message: string][] = [
    [{ maxPending: 0 }, RangeError, "maxPending 0"],
    [{ maxPending: max + 1 }, RangeError, "maxPending"],
    [{ maxHandshakes: 0 }, RangeError, "maxHandshakes 0"],
    [{ maxHandshakes: max + 1 }, RangeError, "maxHandshakes"],
    [{ maxPerPeer: 0 }, RangeError, "maxPerPeer 0"],
    [{ maxPerPeer: max + 1 }, RangeError, "maxPerPeer"],
    [{ tcpPort: -1 }, RangeError, "tcpPort"],
    [{ tcpPort: 65536 }, RangeError, "tcpPort"],
    [{ hostname: 5 }, TypeError, "hostname"],
    [{ exchange }, TypeError, '"exchange"'],
    [{ signal: AbortSignal.abort(new RangeError("aborted")) }, RangeError, "aborted"],
  ];
  for (const [options, error, message] of wrong) {
    await assertRejects(() => listenRc(options), error, message);
  }
  const one = "exactly one of tcpPort and exchange";
  const wrongClient: typeof wrong = [
    [{}, TypeError, one],
    [{ tcpPort: 5, exchange }, TypeError, one],
    [{ exchange: 5 }, TypeError, "exchange is not a function"],
    [{ tcpPort: 0 }, RangeError, "tcpPort 0"],
    [{ tcpPort: 65536 }, RangeError, "tcpPort"],
    [{ tcpPort: 5, hostname: 5 }, TypeError, "hostname"],
    [{ tcpPort: 5, maxPending: 5 }, TypeError, '"maxPending"'],
    [{ tcpPort: 5, signal: AbortSignal.abort(new RangeError("aborted")) }, RangeError, "aborted"],
  ];
  for (const [options, error, message] of wrongClient) {
    await assertRejects(() => connectRc(options), error, message);
  }
});

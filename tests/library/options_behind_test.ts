// Options behind the last argument would be lost.
import { assertRejects, assertThrows } from "@std/assert";
import { AddressHandle, initAhFromWcAsync, ReplyPath } from "../../mod.ts";
import { CmId } from "../../cm.ts";
import { RcConn } from "../../net/mod.ts";

const options = { signal: AbortSignal.timeout(1) };

/** Calls, with as many empty places as they have arguments. They refuse the options before anything else. */
const CALLS: Readonly<Record<string, readonly [call: unknown, places: number, form: string]>> = {
  "AddressHandle.fromWcAsync()": [AddressHandle.fromWcAsync, 4, "{ grh, signal }"],
  "initAhFromWcAsync()": [initAhFromWcAsync, 4, "{ grh, signal }"],
  "ReplyPath.toAsync()": [ReplyPath.prototype.toAsync, 2, "{ grh, signal }"],
  "RcConn.receive()": [RcConn.prototype.receive, 1, "receive({ buffer, signal })"],
};

for (const [name, [call, places, form]] of Object.entries(CALLS)) {
  Deno.test(`${name} refuses options behind its last argument`, async () => {
    const given = [...Array(places), options];
    const calling = (): Promise<unknown> => (call as (...args: unknown[]) => never)(...given);
    await assertRejects(
      calling,
      TypeError,
      `Cannot use a further argument an object: write ${form}`,
    );
  });
}

Deno.test("CmId.reject() refuses options behind its last argument", () => {
  const reject = CmId.prototype.reject as (...args: unknown[]) => void;
  assertThrows(
    () => reject(undefined, { ece: true }),
    TypeError,
    "write reject({ privateData, ece })",
  );
});

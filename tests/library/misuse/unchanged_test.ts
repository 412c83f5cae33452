// What prepares a request and throws has changed nothing, whatever the value is that it refuses.

import { assertEquals, assertGreater } from "@std/assert";
// The recorder, before anything that calls a verb.
import * as recorder from "../../provider/recorder.ts";
import { nativeView } from "../../../ffi/mod.ts";
import { structs } from "../../../ffi/layout.ts";
import type { RequestList, WrBuilder } from "../../../mod.ts";
import { comparable } from "../../provider/records.ts";
import { nativeOf } from "../../../types/work/requests.ts";
import { allCalls, type Call, invoke, pathsOf, type Prepared } from "../registry/calls.ts";
import { ObjectSet } from "../registry/object_set.ts";
import { type Wrong, wrongGetters, wrongValues } from "./cases.ts";

/** The bytes of a list that native code reads, and what is known of them. */
function stateOf({ self }: Prepared): unknown {
  const native = nativeOf(self as RequestList);
  const { words, given, ahs, binds = [], lengths, capacity, maxSge } = native;
  const sges = nativeView(native.sgeList(0), capacity * maxSge * structs.ibv_sge.size);
  const bytes = new Uint8Array(sges.buffer);
  return [words, bytes, given, ahs, binds, lengths].flatMap((values) => [...values]);
}

/** What a builder posts, or why it does not. */
function postedBy({ self }: Prepared): unknown {
  recorder.take();
  try {
    (self as WrBuilder).complete();
  } catch (error) {
    return String(error);
  }
  return comparable(recorder.take());
}

/** Does something with a call that is prepared with new objects. */
async function on<T>(call: Call, use: (prepared: Prepared, set: ObjectSet) => T): Promise<T> {
  recorder.reset();
  using set = new ObjectSet();
  return use(await call.prepare(set), set);
}

/** Puts what is wrong into a call, which throws and leaves the state as it is, or does not throw. */
function refuses(
  call: Call,
  wrong: Wrong,
  state: (prepared: Prepared) => unknown,
  posted: unknown,
): Promise<boolean> {
  return on(call, (prepared, set) => {
    const before = posted ?? state(prepared);
    wrong.put(prepared, set, () => {});
    try {
      invoke(call, prepared);
      return false;
    } catch {
      // A queue pair that is disposed posts nothing.
      const isClosed = state === postedBy && wrong.what.endsWith("closes the device");
      if (!isClosed) {
        const title = `${call.name}: ${wrong.path.join(".")} ${wrong.what}`;
        assertEquals([title, state(prepared)], [title, before]);
      }
      return true;
    }
  });
}

for (
  const [title, owners, state, least] of [
    ["setter of a list", /^(Request|RecvRequest|SendRequest)List$/, stateOf, 5000],
    ["method of a builder", /^WrBuilder$/, postedBy, 500],
  ] as const
) {
  Deno.test(`A ${title} of requests that throws has changed nothing`, async () => {
    const calls = allCalls().filter(({ callable: { owner = "", kind, name } }) =>
      owners.test(owner) && kind === "method" && name !== "complete"
    );
    assertGreater(calls.length, 15);
    let refused = 0;
    for (const call of calls) {
      // Posting ends a builder: another one shows what this one posts.
      const posted = state === postedBy ? await on(call, state) : undefined;
      const paths = await on(call, ({ args }) => pathsOf(args));
      const wrongs = [...wrongValues({ paths }), ...wrongGetters({ paths, resources: [] })]
        // Another call within a call may succeed, and changes the request then.
        .filter(({ what }) => what !== "calls again");
      for (const wrong of wrongs) refused += Number(await refuses(call, wrong, state, posted));
    }
    console.log(`${refused} calls were refused`);
    assertGreater(refused, least);
  });
}

// Verbs that fail: what is thrown, and what is left behind.
import { assert, assertEquals, assertThrows } from "@std/assert";
import { VerbsError } from "../../../mod.ts";
import { Fixture } from "../../provider/fixture.ts";
import * as recorder from "../../provider/recorder.ts";
import { CALLS } from "./calls.ts";
import { MAKERS, wq } from "./makers.ts";

const ERRORS = ["EINVAL", "ENOMEM", "EPERM", "EOPNOTSUPP", "EBUSY", "EAGAIN", "EFAULT"] as const;

for (const [name, { create, destroy, prepare }] of Object.entries(MAKERS)) {
  Deno.test(`${name} throws what ${create} failed with, and leaves nothing behind`, () => {
    for (const code of ERRORS) {
      using fixture = new Fixture();
      const make = prepare(fixture);
      const before = recorder.live();
      recorder.fail(create, code, { times: 1 });
      const error = assertThrows(make, VerbsError);
      assertEquals([error.verb, error.code], [create, code]);
      assertEquals(recorder.live(), before);
      make().close();
      assertEquals(recorder.live(), before);
    }
  });

  Deno.test(`${name} throws if ${create} returns NULL without a reason`, () => {
    using fixture = new Fixture();
    const make = prepare(fixture);
    const before = recorder.live();
    recorder.fail(create, 0);
    const error = assertThrows(make, VerbsError);
    assertEquals([error.verb, error.errno, error.code], [create, 0, "unknown"]);
    assertEquals(recorder.live(), before);
  });

  if (destroy === undefined) continue;
  Deno.test(`${name} can be closed again after ${destroy} failed`, () => {
    using fixture = new Fixture();
    const made = prepare(fixture)();
    const before = recorder.live();
    recorder.fail(destroy, "EBUSY", { times: 1 });
    const error = assertThrows(() => made.close(), VerbsError);
    assertEquals([error.verb, error.code], [destroy, "EBUSY"]);
    assert(made.disposed);
    assertEquals(recorder.live(), before);
    made.close();
    assertEquals(recorder.live(), before - 1);
    recorder.take();
    made.close();
    assertEquals(recorder.take(), []);
  });
}

for (const [name, { verb, replaced, prepare }] of Object.entries(CALLS)) {
  Deno.test(`${name} throws what ${verb} failed with, and works afterwards`, () => {
    for (const code of ERRORS.filter((code) => code !== replaced)) {
      using fixture = new Fixture();
      const call = prepare(fixture);
      const before = recorder.live();
      recorder.fail(verb, code, { times: 1 });
      const error = assertThrows(call, VerbsError);
      assertEquals([error.verb, error.code], [verb, code]);
      assertEquals(recorder.live(), before);
      call();
      assertEquals(recorder.live(), before);
    }
  });
}

Deno.test("A verb that returns its error as a negative number fails with that error", () => {
  using fixture = new Fixture();
  const queue = wq(fixture);
  recorder.fail("ibv_modify_wq", 0, { result: -22n });
  const error = assertThrows(() => queue.modify({ wqState: 1 }), VerbsError);
  assertEquals([error.verb, error.code], ["ibv_modify_wq", "EINVAL"]);
});

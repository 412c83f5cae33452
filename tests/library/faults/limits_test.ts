// The hints of verbs that fail because of a limit of the process.
import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { AddressHandle, VerbsError } from "../../../mod.ts";
import { Fixture } from "../../provider/fixture.ts";
import * as recorder from "../../provider/recorder.ts";
import { outputOf } from "../../subprocess.ts";
import { CALLS } from "./attempts.ts";
import { MAKERS } from "./makers.ts";

/** What the hint of each error names. */
const LIMITS = { EAGAIN: "rdma.max", EMFILE: '"ulimit -n"' } as const;

for (const [code, named] of Object.entries(LIMITS) as [keyof typeof LIMITS, string][]) {
  Deno.test(`Each verb that makes an object names ${named} when it fails with ${code}`, () => {
    for (const { create, prepare } of Object.values(MAKERS)) {
      using fixture = new Fixture();
      const make = prepare(fixture);
      recorder.fail(create, code);
      const error = assertThrows(make, VerbsError, create);
      assertStringIncludes(error.hint ?? "", named, create);
    }
  });

  Deno.test(`Verbs that make no object do not name ${named} when they fail with ${code}`, () => {
    for (const { verb, prepare } of Object.values(CALLS)) {
      using fixture = new Fixture();
      const call = prepare(fixture);
      recorder.fail(verb, code, { times: 1 });
      const error = assertThrows(call, VerbsError, verb);
      assertEquals(error.hint?.includes(named) ?? false, false, verb);
    }
  });
}

Deno.test("AddressHandle.create() names rdma.max when it fails with EAGAIN", async () => {
  using fixture = new Fixture();
  const { pd } = fixture;
  recorder.fail("ibv_create_ah", "EAGAIN");
  const error = await assertRejects(() => AddressHandle.create(pd, { portNum: 1, dlid: 1 }));
  assertStringIncludes((error as VerbsError).hint ?? "", LIMITS.EAGAIN);
});

Deno.test("listDevices() and Context.open() fail with EMFILE when no descriptor is left", async () => {
  const printed = await outputOf(
    `
    import { Context, listDevices } from MOD;
    listDevices();
    const open = [];
    try { for (;;) open.push(Deno.openSync("/dev/null")); } catch {}
    for (const call of [listDevices, () => Context.open("rxe0")]) {
      try { call(); } catch ({ verb, code, hint }) { open.pop().close(); console.log(verb, code, hint); }
      open.push(Deno.openSync("/dev/null"));
    }
    for (const file of open) file.close();
    listDevices();
    console.log("works again");`,
    { prefix: ["prlimit", "--nofile=64"] },
  );
  const line =
    'ibv_get_device_list EMFILE The process has no file descriptor left: "ulimit -n" shows the limit\n';
  assertEquals(printed, `${line}${line}works again`);
});

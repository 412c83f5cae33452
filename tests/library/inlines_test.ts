// Where static-inline verbs lead, compared with the installed header.
import { assertEquals, assertGreaterOrEqual } from "@std/assert";
import { inlineVerbs } from "../../ffi/inlines.ts";

async function reached(thunks: "on" | "off"): Promise<[string, number, number][]> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", "--no-check", import.meta.resolve("./inlines_probe.ts")],
    env: { IBVERBS_THUNKS: thunks },
  }).output();
  assertEquals(success, true, new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** Whose function pointers a verb goes by: objects of different kinds have theirs at the same places. */
function holder(name: string): string {
  const { op } = inlineVerbs[name as keyof typeof inlineVerbs];
  return "ownOp" in op ? op.of : "ibv_context";
}

for (const thunks of ["on", "off"] as const) {
  Deno.test(`Every static-inline verb calls what verbs.h calls, with thunks ${thunks}`, async () => {
    const found = await reached(thunks);
    assertEquals(found.map(([name]) => name), Object.keys(inlineVerbs));
    for (const [name, header, ours] of found) {
      assertGreaterOrEqual(header, 0, `the header's ${name} reaches no target`);
      assertEquals(ours, header, name);
    }
    const distinct = new Set(found.map(([name, , ours]) => `${holder(name)} ${ours}`));
    // an invalidated rkey is read by the op of immediate data
    assertEquals(distinct.size, found.length - 1);
  });
}

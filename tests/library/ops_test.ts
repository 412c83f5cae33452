// Where static-inline verbs lead, and what they answer when their op is missing, compared with the installed header.
import { assert, assertEquals, assertGreater, assertGreaterOrEqual } from "@std/assert";
import { EOPNOTSUPP } from "../../ffi/errno.ts";
import { rows } from "../../ffi/verbs.ts";
import type { AnyRow } from "../../ffi/table/row.ts";

async function printed<T>(probe: string, thunks: "on" | "off"): Promise<T> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", "--no-check", import.meta.resolve(probe)],
    env: { IBVERBS_THUNKS: thunks },
  }).output();
  assertEquals(success, true, new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** Whose function pointers a verb goes by: objects of different kinds have theirs at the same places. */
function holder(name: string): string {
  const row: AnyRow = rows[name as keyof typeof rows];
  assert("op" in row);
  const [of, table] = row.op;
  return table === "own" ? of : "ibv_context";
}

interface Answer {
  readonly value: string;
  readonly errno: number;
}

interface Guard {
  readonly name: string;
  readonly answers: {
    readonly expected: Answer | null;
    readonly ours: Answer & { readonly reached: boolean };
  }[];
  readonly newest?: boolean;
  readonly tooOld?: boolean;
}

for (const thunks of ["on", "off"] as const) {
  Deno.test(`Every static-inline verb calls what verbs.h calls, with thunks ${thunks}`, async () => {
    const found = await printed<[string, number, number][]>("./ops_probe.ts", thunks);
    assertGreater(found.length, 80);
    for (const [name, header, ours] of found) {
      assertGreaterOrEqual(header, 0, `the header's ${name} reaches no target`);
      assertEquals(ours, header, name);
    }
    const distinct = new Set(found.map(([name, , ours]) => `${holder(name)} ${ours}`));
    // an invalidated rkey is read by the op of immediate data
    assertEquals(distinct.size, found.length - 1);
  });

  Deno.test(`Every guarded verb answers as verbs.h does when its op is missing, with thunks ${thunks}`, async () => {
    const guards = await printed<Guard[]>("./guards_probe.ts", thunks);
    assertGreater(guards.length, 30);
    for (const { name, answers, newest, tooOld } of guards) {
      for (const { expected, ours: { value, errno, reached } } of answers) {
        assertEquals(reached, false, `${name} reached an op`);
        assertEquals({ value, errno }, expected ?? { value: `${EOPNOTSUPP}`, errno: 0 }, name);
        assertEquals(value === `${EOPNOTSUPP}` || errno === EOPNOTSUPP, true, name);
      }
      if (newest === undefined) continue;
      assertEquals(newest, true, `${name} is refused by a provider that has it as its newest op`);
      assertEquals(tooOld, false, `${name} reached an op beyond the struct`);
    }
  });
}

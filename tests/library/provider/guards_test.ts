// Verbs whose op the provider lacks, in each of the ways in which it can be missing.
import { assertEquals } from "@std/assert";
import * as recorder from "../../provider/recorder.ts";
import { errno, errnoName, type Field, structs, verbs } from "../../../ffi/mod.ts";
import { bindings, type Row } from "../../../tools/coverage/bindings.ts";
import { type AnyVerb, objects } from "./objects.ts";

/** A verb behind an op. */
type OpRow = Row & Required<Pick<Row, "op" | "parameters">>;
type Op = OpRow["op"];

const rows: [string, OpRow][] = (await bindings())
  .filter(({ row: { op, hot, since } }) => op !== undefined && !hot && since === undefined)
  .map(({ verb, row }) => [verb, row as OpRow]);

/** Verbs that do without their op, as the header's own do. */
const FALLBACKS: Readonly<Record<string, string>> = {
  ibv_query_device_ex: "ibv_query_device",
  ibv_query_port: "ibv_query_port",
};

function argument(type: Deno.NativeType): unknown {
  if (type === "pointer") return null;
  if (type === "buffer") return new Uint8Array(512);
  return type === "u64" || type === "usize" ? 0n : 0;
}

/** Calls a verb on an object, with zeros for everything else, and returns what it came to. */
function outcome(name: string, row: OpRow, on: Record<string, Deno.PointerObject>): unknown {
  const { op: [of], object = 0, parameters, fails } = row;
  const args = parameters.map((type) => argument(type as Deno.NativeType));
  args[object] = on[of];
  recorder.take();
  const result = (verbs()[name as keyof ReturnType<typeof verbs>] as AnyVerb)(...args);
  return fails === "errno" ? [result, errnoName(errno())] : errnoName(Number(result));
}

function expected({ fails, result }: OpRow): unknown {
  if (fails !== "errno") return "EOPNOTSUPP";
  return [result === "pointer" ? null : -1, "EOPNOTSUPP"];
}

function fieldOf([, table, op]: Op): string {
  return table === "ops" ? `ops.${op}` : op;
}

/** Makes the op of a verb missing. */
const WAYS: Record<string, (op: Op, of: string) => void> = {
  "its pointer is null": (op, of) => {
    if (op[1] === "own") recorder.overwrite(of === "ibv_dm" ? "dm0" : "wq0", op[2], 0n);
    else recorder.overwrite("context0", fieldOf(op), 0n);
  },
  "the context ends before it": (op) => {
    const { size, fields } = structs.verbs_context;
    const { offset } = (fields as Readonly<Record<string, Field>>)[op[2]]!;
    recorder.overwrite("context0", "sz", size - offset - 1);
  },
  "the context has no extended ops": () => recorder.overwrite("context0", "abi_compat", 0n),
};

for (const [way, remove] of Object.entries(WAYS)) {
  Deno.test(`A verb fails with EOPNOTSUPP, and reaches no provider, if ${way}`, () => {
    const tried = rows.filter(([, { op }]) => op[1] === "vctx" || way === "its pointer is null");
    for (const [name, row] of tried) {
      const on = objects();
      remove(row.op, row.op[0]);
      const came = outcome(name, row, on);
      const reached = recorder.take().map(({ verb }) => verb);
      const fallback = FALLBACKS[name];
      assertEquals(reached, fallback === undefined ? [] : [fallback], name);
      if (fallback === undefined) assertEquals(came, expected(row), name);
      assertEquals(recorder.violations(), [], name);
    }
  });
}

Deno.test("A context that ends right after an op has it", () => {
  for (const [name, row] of rows.filter(([, { op }]) => op[1] === "vctx")) {
    const on = objects();
    const { size, fields } = structs.verbs_context;
    const { offset } = (fields as Readonly<Record<string, Field>>)[row.op[2]]!;
    recorder.overwrite("context0", "sz", size - offset);
    outcome(name, row, on);
    recorder.violations();
    assertEquals(recorder.take().length, 1, name);
  }
});

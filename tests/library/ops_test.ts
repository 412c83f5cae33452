// Where static-inline verbs lead, and what they answer when their op is missing, compared with the installed header.
import { assert, assertEquals, assertGreater } from "@std/assert";
import { errno } from "../../ffi/errno.ts";
import { constants, type Field, structs } from "../../ffi/layout.ts";
import { bindAll, verbs } from "../../ffi/library.ts";
import type { AnyRow, NativeRow } from "../../ffi/table/row.ts";
import { rows } from "../../ffi/verbs.ts";
import { compileC } from "../c/compile.ts";
import { prototypes } from "./header.ts";

/** A row of a verb behind an op. */
type OpRow = Extract<NativeRow, { op: unknown }>;

const header = new Set((await prototypes()).map(({ name }) => name));

/** The static-inline verbs of the header. */
const opRows = Object.entries<AnyRow>(rows()).filter(
  (entry): entry is [string, OpRow] => "op" in entry[1] && header.has(entry[0]),
);

/** Those that check whether the op is there. */
const guardedRows = opRows.filter(([, { hot }]) => !hot);

/** Verbs whose op takes the size of a struct as well. Without the op they call an exported function. */
const SIZED = ["ibv_query_device_ex", "ibv_query_port"];

/** The header calls these without looking whether the op is there. */
const UNCHECKED = [
  "ibv_close_xrcd",
  "ibv_dealloc_mw",
  "ibv_bind_mw",
  "ibv_memcpy_to_dm",
  "ibv_memcpy_from_dm",
];

/** A call with zeros for all but the object of the op. */
function callOf<T>(
  [name, { parameters, object = 0 }]: [string, OpRow],
  on: T,
  zero: (type: unknown) => T,
): T[] {
  const taken = SIZED.includes(name) ? parameters.slice(0, -1) : parameters;
  return taken.map((type, i) => i === object ? on : zero(type));
}

function inC(macro: string, entries: [string, OpRow][]): string {
  return entries.map((entry) => {
    const [name, { op: [of] }] = entry;
    const object = of === "ibv_context" ? "c" : of === "ibv_flow" ? "f" : "o";
    const zero = (type: unknown): string => type === "pointer" || type === "buffer" ? "z" : "0";
    return `${macro}(${[name, ...callOf(entry, object, zero)].join(",")})`;
  }).join(" ");
}

const targets = Deno.dlopen(
  await compileC("op_targets.c", [
    "-shared",
    "-fPIC",
    // A null argument of a header's function may be one that it looks into.
    "-Wno-nonnull",
    `-DVERBS=${inC("X", opRows)}`,
    `-DGUARDED=${inC("G", guardedRows)}`,
  ]),
  {
    prepare: { parameters: [], result: "void" },
    prepare_lacking: { parameters: ["i32"], result: "void" },
    set_size: { parameters: ["i32"], result: "void" },
    context_of_targets: { parameters: [], result: "pointer" },
    object_of_targets: { parameters: [], result: "pointer" },
    flow_of_targets: { parameters: [], result: "pointer" },
    last_reached: { parameters: [], result: "i32" },
    header_reaches: { parameters: ["buffer"], result: "i32" },
    header_answers: { parameters: ["buffer", "buffer"], result: "i32" },
  },
).symbols;
// Binding a verb opens a library, which must not happen within a test.
bindAll();

function cString(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${text}\0`);
}

function zero(type: unknown): unknown {
  if (type === "buffer") return new Uint8Array(512);
  if (type === "pointer") return Deno.UnsafePointer.of(new Uint8Array(512));
  return type === "u64" || type === "usize" ? 0n : 0;
}

function object([of]: OpRow["op"]): Deno.PointerValue {
  if (of === "ibv_context") return targets.context_of_targets();
  return of === "ibv_flow" ? targets.flow_of_targets() : targets.object_of_targets();
}

/** Calls a verb, and returns the target that it reached. */
function call(entry: [string, OpRow]): { readonly result: unknown; readonly reached: number } {
  const [name, { op }] = entry;
  targets.last_reached();
  const native = verbs() as unknown as Record<string, (...args: unknown[]) => unknown>;
  const result = native[name]!(...callOf<unknown>(entry, object(op), zero));
  return { result, reached: targets.last_reached() };
}

/** Whose function pointers a verb goes by: objects of different kinds have theirs at the same places. */
function holder([of, table]: OpRow["op"]): string {
  return table === "own" ? of : "ibv_context";
}

Deno.test("Every static-inline verb calls what verbs.h calls", () => {
  targets.prepare();
  assertGreater(opRows.length, 80);
  const distinct = new Set(opRows.map((entry) => {
    const [name, { op }] = entry;
    const header = targets.header_reaches(cString(name));
    assert(header >= 0, `the header's ${name} reaches no target`);
    assertEquals(call(entry).reached, header, name);
    return `${holder(op)} ${header}`;
  }));
  // An invalidated rkey is read by the op of immediate data.
  assertEquals(distinct.size, opRows.length - 1);
});

/** Ways in which an op can be missing: its pointer, by the size of the context, or by the ABI. */
const [POINTERS, SIZE, ABI] = [0, 1, 2];

/** What a verb tells by its result and errno: errno counts only where the verb reports by it. */
function told({ fails }: OpRow, value: unknown, code: number): object {
  return { value: `${value ?? 0}`, errno: fails === "errno" ? code : 0 };
}

function answerOfHeader([name, row]: [string, OpRow]): object {
  if (UNCHECKED.includes(name)) return { value: `${constants.EOPNOTSUPP}`, errno: 0 };
  const answer = new BigInt64Array(1);
  const code = targets.header_answers(cString(name), answer);
  return told(row, answer[0], code);
}

Deno.test("Every guarded verb answers as verbs.h does when its op is missing", () => {
  const tried = guardedRows.filter(([name]) => !SIZED.includes(name));
  assertGreater(tried.length, 30);
  const fields: Readonly<Record<string, Field>> = structs.verbs_context.fields;
  for (const entry of tried) {
    const [name, row] = entry;
    const { op: [, table, op] } = row;
    for (const lack of table === "vctx" ? [POINTERS, SIZE, ABI] : [POINTERS]) {
      targets.prepare_lacking(lack!);
      const expected = answerOfHeader(entry);
      const { result, reached } = call(entry);
      const ours = told(row, result, errno());
      assertEquals({ ...ours, reached }, { ...expected, reached: -1 }, name);
      assert(Object.values(ours).some((value) => Number(value) === constants.EOPNOTSUPP), name);
    }
    if (table !== "vctx") continue;
    targets.prepare();
    const size = structs.verbs_context.size - fields[op]!.offset;
    targets.set_size(size);
    assert(call(entry).reached >= 0, `${name} is refused as the newest op`);
    targets.set_size(size - 1);
    assertEquals(call(entry).reached, -1, `${name} reached an op beyond the struct`);
  }
});

// The tables of verbs, compared with the installed header and library.
import { assert, assertEquals, assertGreater } from "@std/assert";
import { type Field, structs } from "../../ffi/layout.ts";
import { rows } from "../../ffi/verbs.ts";
import type { AnyRow, NativeRow, Row } from "../../ffi/table/row.ts";
import { Cq, Qp } from "../../ffi/parameters.ts";
import type { IbvCq } from "../../ffi/handles.ts";
import { KNOWN } from "../../tools/coverage/coverage.ts";
import { ffiTypes, parse, type Prototype, prototypes } from "./header.ts";

const HEADER = await prototypes();
/** The prototypes that the comments on the verbs tell. */
const DOCUMENTED = [...Deno.readDirSync("ffi/verbs")].flatMap(({ name }) => {
  const prototypes = Deno.readTextFileSync(`ffi/verbs/${name}`).matchAll(/`([^`\n]+\))`/g);
  return [...prototypes].map(([, text]) => parse(text!, false)!);
});
const ALL = new Map<string, AnyRow>(Object.entries(rows()));
/** The header's functions behind its macros, by the name of the macro or of what stands for it here. */
const BEHIND_MACROS: Record<string, string> = {
  ___ibv_query_port: "ibv_query_port",
  __ibv_reg_mr: "ibv_reg_mr",
  __ibv_reg_mr_iova: "ibv_reg_mr_iova",
};
/** Not a verb: it finds the struct that encloses a context. */
const HELPERS = ["verbs_get_ctx"];
/** Under a name of its own here, because a macro has its name. */
const FROZEN = "_compat_ibv_query_port";
/** The rdma-core that brought a function; NaN for one of the first. */
const sinceOf = (name: string): number => Number(KNOWN.get(name.replace(/^_/, ""))?.since);
/** The rdma-core whose header is installed, or an older one. */
const INSTALLED = Math.max(...HEADER.map(({ name }) => sinceOf(name) || 0));
/** Functions of later versions. */
const NEWER = [...ALL.keys()].filter((name) => sinceOf(name) > INSTALLED);

function nativeOf(name: string): NativeRow | undefined {
  const row = ALL.get(name)!;
  return "parameters" in row && row.parameters !== undefined ? row : undefined;
}

/** Ops that take the size of their last argument as well. */
const SIZED = ["ibv_query_device_ex", "ibv_query_port"];

function assertMatches({ parameters, result }: Prototype, name: string, row: NativeRow): void {
  const taken = SIZED.includes(name) ? row.parameters.slice(0, -1) : row.parameters;
  assertEquals(taken.length, parameters.length, `parameters of ${name}`);
  for (const [i, type] of parameters.entries()) {
    assert(ffiTypes(type).includes(taken[i]), `${name}: ${type}`);
  }
  assert(ffiTypes(result).includes(row.result), `${name}: ${result}`);
}

Deno.test("The tables have every function of verbs.h, and no others but newer ones", () => {
  const declared = HEADER.map(({ name }) => BEHIND_MACROS[name] ?? name)
    .filter((name) => !HELPERS.includes(name));
  const known = [...ALL.keys()].filter((name) => name !== FROZEN);
  assertGreater(declared.length, 150);
  assertEquals(new Set(known), new Set([...declared, ...NEWER]));
});

/** Names within the header that its users do not see. */
function publicOf(text: string): string {
  return text.replaceAll("* *", "**").replace("ib_uverbs_", "ibv_").replace("_compat_", "");
}

Deno.test("The comments on the verbs have the prototypes of verbs.h", () => {
  const told = new Map(DOCUMENTED.map((prototype) => [prototype.name, prototype]));
  assertEquals(new Set(told.keys()), new Set(ALL.keys()));
  for (const { name, result, parameters } of HEADER) {
    const ours = told.get(name);
    if (ours === undefined) continue;
    assertEquals(publicOf(ours.result), result, name);
    assertEquals(ours.parameters, parameters.map(publicOf), name);
  }
});

Deno.test("The tables have the parameters and results of the prototypes", () => {
  for (const prototype of DOCUMENTED) {
    const row = nativeOf(prototype.name);
    if (row !== undefined) assertMatches(prototype, prototype.name, row);
  }
});

Deno.test("The tables tell the struct that holds a function pointer", () => {
  const { ibv_context, verbs_context, ...owners } = structs;
  const contexts: Record<string, Field> = ibv_context.fields;
  for (const [name, row] of ALL) {
    if (!("op" in row)) continue;
    const [of, table, op] = row.op;
    const isOwn = of in owners && op in owners[of as keyof typeof owners].fields;
    const isExtended = op in verbs_context.fields;
    assert(isOwn || isExtended || `ops.${op}` in contexts, name);
    assertEquals(table, isOwn ? "own" : isExtended ? "vctx" : "ops", name);
  }
});

Deno.test("The tables say of each function whether it is exported or an inline one", () => {
  for (const { name, isInline } of HEADER) {
    const row = ALL.get(name);
    if (row === undefined || name === "ibv_query_port") continue;
    const isExported = nativeOf(name) !== undefined && !("op" in row);
    assertEquals(isExported, !isInline, name);
  }
});

Deno.test("The installed library exports what the tables say it does", async () => {
  const exported = await exportedSymbols();
  for (const [name, row] of ALL) {
    const native = nativeOf(name);
    if (native === undefined || "op" in row || NEWER.includes(name)) continue;
    const symbol = "symbol" in native ? native.symbol ?? name : name;
    assert(exported.has(symbol), `${symbol} is not exported`);
  }
});

Deno.test("The tables say which functions are of the hot path", () => {
  const hotOps = /^ibv_((cq|qp)_ex|(cq|qp|srq)\.ops|wq\.own)/;
  for (const name of ALL.keys()) {
    const row = nativeOf(name);
    assert(row !== undefined || "header" in ALL.get(name)!, name);
    if (row === undefined) continue;
    const op = "op" in row ? row.op.join(".") : "";
    assertEquals("op" in row && row.hot === true, hotOps.test(op), name);
  }
});

Deno.test("A row whose FFI types do not carry its prototype does not compile", () => {
  const right: Row<(cq: IbvCq, cqe: number) => number> = {
    parameters: [Cq, "i32"],
    result: "i32",
    fails: "code",
  };
  const wrong: Row<(cq: IbvCq, cqe: number) => number>[] = [
    // @ts-expect-error a handle of another kind
    { parameters: [Qp, "i32"], result: "i32", fails: "code" },
    // @ts-expect-error a parameter too few
    { parameters: [Cq], result: "i32", fails: "code" },
    // @ts-expect-error a 64-bit integer is a bigint
    { parameters: [Cq, "u64"], result: "i32", fails: "code" },
    // @ts-expect-error a handle is no number
    { parameters: [Cq, "i32"], result: Cq, fails: "code" },
    // @ts-expect-error there is no such op
    { op: ["ibv_cq", "ops", "resize_cq"], parameters: [Cq, "i32"], result: "i32", fails: "code" },
  ];
  assertEquals(wrong.length, 5);
  assertEquals("parameters" in right, true);
});

async function exportedSymbols(): Promise<Set<string>> {
  const { stdout } = await new Deno.Command("/sbin/ldconfig", { args: ["-p"] }).output();
  const path = /libibverbs\.so\.1 .*=> (\S+)/.exec(new TextDecoder().decode(stdout))![1]!;
  const nm = await new Deno.Command("nm", { args: ["-D", "--defined-only", path] }).output();
  const symbols = new TextDecoder().decode(nm.stdout).matchAll(/ T (\w+)@@/g);
  return new Set([...symbols].map(([, name]) => name!));
}

// Numbers reach the provider as they are, whatever their width and place, through every verb.
import { assert, assertEquals, assertGreater } from "@std/assert";
import * as recorder from "../../provider/recorder.ts";
import { bufferAddress, bufferPointer, hasSymbol } from "../../../ffi/mod.ts";
import { type Binding, bindings, type Row } from "../../../tools/coverage/bindings.ts";
import { call, objects } from "./objects.ts";

const natives = (await bindings()).filter(isInstalled);

function isInstalled({ verb, row: { fails, op, symbol = verb } }: Binding): boolean {
  return fails !== undefined && (op !== undefined || hasSymbol(symbol));
}

/** Values whose every byte differs, and whose highest bit is set; a number that counts or measures is small. */
const VALUES: Readonly<Record<string, (at: number) => number | bigint>> = {
  u8: (at) => 0x81 + at,
  u16: (at) => 0x8280 + at,
  u32: (at) => 0x84838280 + at,
  i32: (at) => -0x12345670 - at,
  u64: (at) => 0x8887868584838280n + BigInt(at),
  usize: (at) => BigInt(at),
};

/** Arguments that are small or positive: counts of what is read, and flags that another verb takes unsigned. */
const SMALL: Readonly<Record<string, number>> = {
  ibv_advise_mr: 4,
  ibv_wr_send_tso: 2,
  ibv_read_counters: 2,
  ibv_reg_mr: 3,
  ibv_reg_mr_iova: 4,
};

/** Verbs that read memory at an address. */
const ADDRESSES: Readonly<Record<string, number>> = {
  ibv_wr_send_tso: 1,
  ibv_wr_atomic_write: 3,
  ibv_wr_set_inline_data: 1,
};

/** Verbs without an argument for a provider, and those that the test calls to prepare. */
const LEFT_OUT = ["ibv_fork_init", "ibv_is_fork_initialized"];

const memory = new Uint8Array(4096);

function argument(name: string, type: string, at: number): unknown {
  if (type === "pointer") return bufferPointer(memory);
  if (type === "buffer") return memory;
  if (ADDRESSES[name] === at) return bufferAddress(memory);
  return SMALL[name] === at ? at : VALUES[type]!(at);
}

function isNumber(value: unknown): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}

/** The recorder prints enums as signed numbers. */
function bits(value: number | bigint): bigint {
  return value >= -(2 ** 31) && value < 0
    ? BigInt.asUintN(32, BigInt(value))
    : BigInt.asUintN(64, BigInt(value));
}

/** The parameters of a verb. The size of a struct, which some ops take at the end, is no parameter. */
function parametersOf({ header, parameters = [] }: Row): readonly Deno.NativeType[] {
  return header !== undefined && parameters.at(-1) === "usize"
    ? parameters.slice(0, -1)
    : parameters;
}

/** Verbs that the header calls by another name. */
const NAMES: Readonly<Record<string, string>> = {
  _compat_ibv_query_port: "ibv_query_port",
  ibv_query_port: "___ibv_query_port",
  ibv_query_gid_ex: "_ibv_query_gid_ex",
  ibv_query_gid_table: "_ibv_query_gid_table",
};

/** The numbers that a call of a verb passed, as the provider saw them. */
function passed(name: string): bigint[] {
  const { verb, args } = recorder.take().at(-1)!;
  assertEquals(verb, NAMES[name] ?? name);
  return Object.values(args).flatMap((value) => isNumber(value) ? [bits(value)] : []);
}

/** Whether all numbers are among others, in the same order. */
function isWithin(numbers: readonly bigint[], all: readonly bigint[]): boolean {
  let at = 0;
  for (const number of all) if (number === numbers[at]) at++;
  return at === numbers.length;
}

Deno.test("Every number that a verb takes reaches the provider as it is", () => {
  const tried = natives.filter(({ verb, row }) =>
    parametersOf(row).some((type) => typeof type === "string" && type in VALUES) &&
    !LEFT_OUT.includes(verb)
  );
  assertGreater(tried.length, 55);
  for (const { verb, row } of tried) {
    const { op, object = 0 } = row;
    const on = objects();
    const args = parametersOf(row).map((type, at) => argument(verb, type as string, at));
    if (op !== undefined) args[object] = on[op[0] as keyof typeof on];
    memory.fill(0);
    recorder.take();
    call(verb, ...args);
    const numbers = args.filter((value, at) => isNumber(value) && ADDRESSES[verb] !== at);
    const given = (numbers as (number | bigint)[]).map(bits);
    const seen = passed(verb);
    assert(isWithin(given, seen), `${verb}: ${given} in ${seen}`);
  }
});

// The table of libefa's functions, compared with the installed header and library; what is said where one is missing, or all.
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { bindEfa, efa } from "../../../ffi/efa.ts";
import { efaRows } from "../../../ffi/efa/functions.ts";
import { EOPNOTSUPP, errno } from "../../../ffi/errno.ts";
import type { AnyFunction } from "../../../ffi/function_pointer.ts";
import { libefa } from "../../../ffi/library/discovery.ts";
import type { NativeRow } from "../../../ffi/table/row.ts";
import {
  efaAhNumber,
  EfaCompletionQueue,
  EfaWorkCompletions,
  queryEfaDevice,
} from "../../../efa.ts";
import { callEfa } from "../../../types/efa/call.ts";
import { outputOf, runScript } from "../../subprocess.ts";
import { ffiTypes, parse, prototypes } from "../header.ts";

const ROWS = efaRows as unknown as Readonly<Record<string, NativeRow>>;
const DECLARED = (await prototypes("infiniband/efadv.h"))
  .filter(({ name }) => name.startsWith("efadv_"));

// The library stays open.
bindEfa();

Deno.test("The table has the functions of the header, of which none is unknown, with their prototypes", () => {
  const source = Deno.readTextFileSync("ffi/efa/functions.ts");
  const told = new Map(
    Array.from(
      source.matchAll(/`([^`\n]* \**efadv_[^`\n]+\))`/g),
      ([, text]) => parse(text!, false)!,
    )
      .map((prototype) => [prototype.name, prototype]),
  );
  assertEquals([...told.keys()].sort(), Object.keys(ROWS).sort());
  assertEquals(told.size, 16);
  assert(DECLARED.length >= 4);
  for (const { isInline: _, ...declared } of DECLARED) {
    const { isInline: _, ...prototype } = told.get(declared.name)!;
    assertEquals(prototype, declared);
  }
});

Deno.test("The rows have the parameters and results of the prototypes, and live where those do", () => {
  for (const { name, parameters, result, isInline } of DECLARED) {
    const row = ROWS[name]!;
    assertEquals(row.parameters.length, parameters.length, name);
    for (const [i, type] of parameters.entries()) {
      assert(ffiTypes(type).includes(row.parameters[i]), `${name}: ${type}`);
    }
    assert(ffiTypes(result).includes(row.result), `${name}: ${result}`);
    assertEquals("op" in row, isInline, name);
  }
});

Deno.test("A function that the installed libefa lacks fails with EOPNOTSUPP, in its own way", () => {
  const absent = Object.entries(ROWS).filter(([name, row]) => !("op" in row) && !libefa.has(name));
  for (const [name, { fails }] of absent) {
    const result = (efa() as unknown as Record<string, AnyFunction>)[name]!();
    if (fails === "errno") assertEquals([result, errno()], [null, EOPNOTSUPP], name);
    else assertEquals(result, fails === "negative" ? -EOPNOTSUPP : EOPNOTSUPP, name);
    const error = assertThrows(() => callEfa(name as "efadv_query_mr", "ask", [] as never), Error);
    assertStringIncludes(error.message, `Cannot ask: ${name} gave EOPNOTSUPP`);
    assertStringIncludes(error.message, "or the installed libefa is older");
  }
  const present = Object.keys(ROWS).filter((name) => libefa.has(name));
  assert(present.includes("efadv_query_ah"));
  assertEquals(
    DECLARED.filter(({ isInline }) => !isInline).map(({ name }) => name).sort(),
    present.sort(),
  );
});

Deno.test("efa() opens libefa when a function is read, and the module does not", async () => {
  const script = `
    import { efa } from FFI/mod;
    await import(${JSON.stringify(import.meta.resolve("../../../efa.ts"))});
    const isOpen = () => Deno.readTextFileSync("/proc/self/maps").includes("libefa.so");
    efa();
    console.log(isOpen());
    efa().efadv_query_ah;
    console.log(isOpen());`;
  for (const thunks of ["on", "off"]) {
    assertEquals(await outputOf(script, { env: { IBVERBS_THUNKS: thunks } }), "false\ntrue");
  }
});

Deno.test("efa() tells what was tried, and the package, when EFA_LIBRARY names nothing", async () => {
  const { code, stderr } = await runScript(
    `import { efa } from FFI/efa; efa().efadv_query_ah;`,
    { env: { EFA_LIBRARY: "/nowhere/libefa.so.1" } },
  );
  assertEquals(code, 1);
  assertStringIncludes(stderr, "Cannot open libefa, tried:\n  /nowhere/libefa.so.1: ");
  assertStringIncludes(stderr, "ibverbs-providers");
  assertStringIncludes(stderr, "or set EFA_LIBRARY to its path");
});

Deno.test("What is no object of the library is refused before libefa is reached", () => {
  for (const value of [undefined, null, 1, {}]) {
    assertThrows(() => queryEfaDevice(value as never), TypeError, "context");
    assertThrows(() => efaAhNumber(value as never), TypeError, "ah");
    assertThrows(() => new EfaCompletionQueue(value as never, { cqe: 1 }), TypeError, "context");
  }
  assertThrows(() => new EfaWorkCompletions(0), RangeError);
  const batch = new EfaWorkCompletions(2);
  assertEquals([batch.capacity, batch.sgid(1)], [2, undefined]);
  assertThrows(() => batch.sgid(2), RangeError, "room for 2");
  assertThrows(() => batch.sgid("0" as never), TypeError, "index");
});

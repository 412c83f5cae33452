// The tables of the functions of librdmacm and libefa, compared with the installed headers and libraries; what is said where
// one is missing.
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { bindEfa, efa } from "../../ffi/efa.ts";
import { efaRows } from "../../ffi/efa/functions.ts";
import { errno } from "../../ffi/errno.ts";
import type { AnyFunction } from "../../ffi/function_pointer.ts";
import { constants } from "../../ffi/layout.ts";
import { libefa, librdmacm } from "../../ffi/library/discovery.ts";
import { bindRdmacm, rdmacm } from "../../ffi/rdmacm.ts";
import { rdmacmRows } from "../../ffi/rdmacm/functions.ts";
import type { NativeRow } from "../../ffi/table/row.ts";
import { callEfa } from "../../types/efa/call.ts";
import { outputOf, runScript } from "../subprocess.ts";
import { ffiTypes, parse, type Prototype, prototypes } from "./header.ts";

// The libraries stay open.
bindEfa();
bindRdmacm();

interface Library {
  /** What its functions start with, and how many the table has. */
  readonly prefix: string;
  readonly count: number;
  /** How many of these the oldest header has. */
  readonly least: number;
  readonly headers: readonly string[];
  readonly source: string;
  readonly rows: Readonly<Record<string, NativeRow>>;
  /** What gives its functions, one of these, and the file of the library. */
  readonly name: "efa" | "rdmacm";
  readonly sample: string;
  readonly variable: string;
  readonly package: string;
}

const rowsOf = (rows: unknown) => rows as Readonly<Record<string, NativeRow>>;

const LIBRARIES: readonly Library[] = [
  {
    prefix: "efadv_",
    count: 16,
    least: 4,
    headers: ["infiniband/efadv.h"],
    source: "ffi/efa/functions.ts",
    rows: rowsOf(efaRows),
    name: "efa",
    sample: "efadv_query_ah",
    variable: "EFA_LIBRARY",
    package: "ibverbs-providers",
  },
  {
    prefix: "rdma_",
    count: 44,
    least: 41,
    headers: ["rdma/rdma_cma.h", "rdma/rdma_verbs.h"],
    source: "ffi/rdmacm/functions.ts",
    rows: rowsOf(rdmacmRows),
    name: "rdmacm",
    sample: "rdma_event_str",
    variable: "RDMACM_LIBRARY",
    package: "librdmacm1",
  },
];

/** Functions of rdma-core 60 and later. */
const NEWER = ["rdma_query_addrinfo", "rdma_resolve_addrinfo", "rdma_write_cm_event"];

/** What the installed headers declare. Inline functions of librdmacm only call others. */
async function declared({ headers, prefix, name }: Library): Promise<Prototype[]> {
  return (await Promise.all(headers.map(prototypes))).flat().filter((one) =>
    one.name.startsWith(prefix) &&
    (name === "efa" || !one.isInline)
  );
}

for (const library of LIBRARIES) {
  const { name, prefix, count, least, source, rows, sample, variable } = library;
  const HEADER = await declared(library);

  Deno.test(`The table of lib${name} has the functions of the header with their prototypes`, () => {
    const comments = Deno.readTextFileSync(source)
      .matchAll(new RegExp(`\`([^\`\\n]* \\**${prefix}[^\`\\n]+\\))\``, "g"));
    const told = new Map(
      Array.from(comments, ([, text]) => parse(text!, false)!).map((one) => [one.name, one]),
    );
    assertEquals([...told.keys()].sort(), Object.keys(rows).sort());
    assertEquals(told.size, count);
    assert(HEADER.length >= least);
    for (const { isInline: _, ...prototype } of HEADER) {
      const { isInline: _, ...ours } = told.get(prototype.name)!;
      assertEquals(ours, prototype);
    }
  });

  Deno.test(`The rows of lib${name} have the parameters and results of the prototypes`, () => {
    for (const { name: of, parameters, result, isInline } of HEADER) {
      const row = rows[of]!;
      assertEquals(row.parameters.length, parameters.length, of);
      for (const [i, type] of parameters.entries()) {
        assert(ffiTypes(type).includes(row.parameters[i]), `${of}: ${type}`);
      }
      assert(ffiTypes(result).includes(row.result), `${of}: ${result}`);
      assertEquals("op" in row, isInline, of);
    }
  });

  Deno.test(`lib${name} is opened when one of its functions is read, and not before`, async () => {
    const script = `
      import { ${name}, verbs } from FFI/mod;
      await import(${JSON.stringify(import.meta.resolve("../../efa.ts"))});
      const isOpen = () => Deno.readTextFileSync("/proc/self/maps").includes("lib${name}.so");
      verbs().ibv_fork_init();
      ${name}();
      console.log(isOpen());
      ${name}().${sample};
      console.log(isOpen());`;
    for (const thunks of ["on", "off"]) {
      assertEquals(await outputOf(script, { env: { IBVERBS_THUNKS: thunks } }), "false\ntrue");
    }
  });

  Deno.test(`${name}() says what was tried, and the package, when ${variable} names nothing`, async () => {
    const { code, stderr } = await runScript(
      `import { ${name} } from FFI/${name}; ${name}().${sample};`,
      { env: { [variable]: `/nowhere/lib${name}.so.1` } },
    );
    assertEquals(code, 1);
    const tried = `Cannot open lib${name}, tried:\n  /nowhere/lib${name}.so.1: `;
    for (const text of [tried, library.package, `or set ${variable} to its path`]) {
      assertStringIncludes(stderr, text);
    }
  });
}

Deno.test("The installed librdmacm exports every function of the table", () => {
  const missing = Object.keys(rdmacmRows).filter((name) => !librdmacm.has(name));
  assertEquals(missing.filter((name) => !NEWER.includes(name)), []);
  assertEquals(librdmacm.has("rdma_no_such_function"), false);
  assertEquals(rdmacm().rdma_get_cm_event, rdmacm().rdma_get_cm_event);
});

Deno.test("A function that the installed libefa lacks fails with EOPNOTSUPP, in its own way", async () => {
  const rows = Object.entries(rowsOf(efaRows));
  for (
    const [name, { fails }] of rows.filter(([name, row]) => !("op" in row) && !libefa.has(name))
  ) {
    const result = (efa() as unknown as Record<string, AnyFunction>)[name]!();
    if (fails === "errno") assertEquals([result, errno()], [null, constants.EOPNOTSUPP], name);
    else {assertEquals(
        result,
        fails === "negative" ? -constants.EOPNOTSUPP : constants.EOPNOTSUPP,
        name,
      );}
    const error = assertThrows(() => callEfa(name as "efadv_query_mr", "ask", [] as never), Error);
    assertStringIncludes(error.message, `Cannot ask: ${name} gave EOPNOTSUPP`);
    assertStringIncludes(error.message, "or the installed libefa is older");
  }
  const exported = (await declared(LIBRARIES[0]!)).filter(({ isInline }) => !isInline);
  const present = rows.map(([name]) => name).filter((name) => libefa.has(name));
  assertEquals(exported.map(({ name }) => name).sort(), present.sort());
});

Deno.test("A function of librdmacm keeps its errno, with thunks and without", async () => {
  const script = `
    import { errno, errnoName } from FFI/errno;
    import { rdmacm } from FFI/rdmacm;
    const id = new BigUint64Array(1);
    const none = Deno.UnsafePointer.create(0n);
    console.log(rdmacm().rdma_create_id(none, id, 0n, 0x106), errnoName(errno()));`;
  const printed = await Promise.all(
    ["on", "off"].map((thunks) => outputOf(script, { env: { IBVERBS_THUNKS: thunks } })),
  );
  assertEquals(printed, Array(2).fill("-1 ENODEV"));
});

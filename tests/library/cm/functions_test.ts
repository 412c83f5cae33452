// The table of librdmacm's functions, compared with the installed headers and library; what is said where it is missing.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { librdmacm } from "../../../ffi/library/discovery.ts";
import { bindRdmacm, rdmacm } from "../../../ffi/rdmacm.ts";
import { rdmacmRows } from "../../../ffi/rdmacm/functions.ts";
import type { NativeRow } from "../../../ffi/table/row.ts";
import { outputOf, runScript } from "../../subprocess.ts";
import { ffiTypes, parse, prototypes } from "../header.ts";

const ROWS = rdmacmRows as unknown as Readonly<Record<string, NativeRow>>;
const HEADER = (await Promise.all(["rdma/rdma_cma.h", "rdma/rdma_verbs.h"].map(prototypes)))
  .flat().filter(({ name, isInline }) => name.startsWith("rdma_") && !isInline);
/** Functions of rdma-core 60 and later, which no class needs. */
const NEWER = ["rdma_query_addrinfo", "rdma_resolve_addrinfo", "rdma_write_cm_event"];
const DECLARED = HEADER.filter(({ name }) => !NEWER.includes(name));

// The library stays open.
bindRdmacm();

Deno.test("The table has the functions of the headers with their prototypes", () => {
  const source = Deno.readTextFileSync("ffi/rdmacm/functions.ts");
  const told = new Map(
    Array.from(
      source.matchAll(/`([^`\n]* \**rdma_[^`\n]+\))`/g),
      ([, text]) => parse(text!, false)!,
    )
      .map((prototype) => [prototype.name, prototype]),
  );
  const names = DECLARED.map(({ name }) => name).sort();
  assertEquals(names.length, 41);
  assertEquals([...told.keys()].sort(), names);
  assertEquals(Object.keys(ROWS).sort(), names);
  for (const declared of DECLARED) assertEquals(told.get(declared.name), declared);
});

Deno.test("The rows have the parameters, results and failures of the prototypes", () => {
  for (const { name, parameters, result } of DECLARED) {
    const row = ROWS[name]!;
    assertEquals(row.parameters.length, parameters.length, name);
    for (const [i, type] of parameters.entries()) {
      assert(ffiTypes(type).includes(row.parameters[i]), `${name}: ${type}`);
    }
    assert(ffiTypes(result).includes(row.result), `${name}: ${result}`);
    const cannotFail = /^void$|^__be16$|^const char \*$/.test(result);
    assertEquals(row.fails, cannotFail ? "never" : "errno", name);
  }
});

Deno.test("The installed librdmacm exports every function of the table", () => {
  assertEquals(Object.keys(ROWS).filter((name) => !librdmacm.has(name)), []);
  assertEquals(librdmacm.has("rdma_no_such_function"), false);
  assertEquals(rdmacm().rdma_get_cm_event, rdmacm().rdma_get_cm_event);
});

Deno.test("rdmacm() opens librdmacm when a function is read, and verbs() never does", async () => {
  const script = `
    import { rdmacm, verbs } from FFI/mod;
    const isOpen = () => Deno.readTextFileSync("/proc/self/maps").includes("librdmacm.so");
    verbs().ibv_fork_init();
    rdmacm();
    console.log(isOpen());
    rdmacm().rdma_event_str;
    console.log(isOpen());`;
  for (const thunks of ["on", "off"]) {
    const printed = await outputOf(script, { env: { IBVERBS_THUNKS: thunks } });
    assertEquals(printed, "false\ntrue");
  }
});

Deno.test("rdmacm() tells what was tried, and the package, when RDMACM_LIBRARY names nothing", async () => {
  const { code, stderr } = await runScript(
    `import { rdmacm } from FFI/rdmacm; rdmacm().rdma_event_str;`,
    { env: { RDMACM_LIBRARY: "/nowhere/librdmacm.so.1" } },
  );
  assertEquals(code, 1);
  assertStringIncludes(stderr, "Cannot open librdmacm, tried:\n  /nowhere/librdmacm.so.1: ");
  assertStringIncludes(stderr, "librdmacm1");
  assertStringIncludes(stderr, "or set RDMACM_LIBRARY to its path");
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
  assertEquals(printed[0], printed[1]);
  assertEquals(printed[0], "-1 ENODEV");
});

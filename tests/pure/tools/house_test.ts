// What the check of the project's files finds.

import { assertEquals } from "@std/assert";
import { clockFaults } from "../../../tools/house/clocks.ts";
import { optionalFaults } from "../../../tools/house/optional.ts";
import { faultsOf, FLOORS, tableFaults } from "../../../tools/house/floors.ts";
import { vendorFaults } from "../../../tools/house/vendors.ts";

/** How many uses of replaceable timers and clocks a line of the library has. */
function uses(line: string, file = "net/example.ts"): number {
  return clockFaults(new Map([[file, line]])).length;
}

Deno.test("A file of the library that uses a timer or a clock of the runtime is found", () => {
  const found = [
    "setTimeout(call, 1);",
    "globalThis.setInterval(call, 1);",
    'globalThis["setImmediate"](call);',
    "const { queueMicrotask } = globalThis;",
    "const later = clearTimeout;",
    "let now = performance.now();",
    "let now = Date.now(), then = new Date();",
    "Deno.unrefTimer(timer);",
    "const signal = AbortSignal.timeout(10);",
  ];
  assertEquals(found.map((line) => [line, uses(line) > 0]), found.map((line) => [line, true]));
  for (
    const file of ["internal/a.ts", "wait/a.ts", "ffi/b/c.ts", "types/d.ts", "net/e.ts", "mod.ts"]
  ) {
    assertEquals([file, uses(found[0]!, file)], [file, 1]);
  }
});

Deno.test("What is taken at the import, types, comments and other packages are no uses", () => {
  const free = [
    "timers.setTimeout(call, 1); clock.now();",
    "let timer: ReturnType<typeof setTimeout> | undefined;",
    "/** `performance.now()` */",
  ];
  assertEquals(free.map((line) => uses(line)), free.map(() => 0));
  for (const file of ["wait/clock.ts", "cli/a.ts", "tests/b.ts", "examples/c.ts"]) {
    assertEquals([file, uses("setTimeout(call, 1);", file)], [file, 0]);
  }
});

/** How many optional properties of a line refuse `undefined`. */
function refusing(line: string, file = "types/example.ts"): number {
  return optionalFaults(new Map([[file, line]])).length;
}

Deno.test("An optional property of a public type that refuses undefined is found", () => {
  const found = [
    "export interface A { readonly a?: number; }",
    "export interface A { readonly a?: () => void | undefined; }",
    "export type A = { readonly [K in Name]?: number };",
    "export interface A extends Partial<B> { readonly a: number; }",
    "export function f(options: { readonly a?: string } = {}): void {}",
    "class A { f(options: Partial<B>): void {} }",
    "export type A = Required<B>;",
  ];
  assertEquals(found.map((line) => [line, refusing(line)]), found.map((line) => [line, 1]));
  for (const file of ["internal/a.ts", "wait/b.ts", "net/rc/c.ts", "mod.ts"]) {
    assertEquals([file, refusing(found[0]!, file)], [file, 1]);
  }
});

Deno.test("Optional properties that permit undefined, and types within functions, are right", () => {
  const right = [
    "export interface A { readonly a?: number | undefined; }",
    "export interface A { readonly a?: (() => void) | undefined; }",
    "export type A = { readonly [K in Name]?: number | undefined };",
    "export type A = { readonly [K in Name]-?: number };",
    "export function f(a?: string): void { const b: { c?: number } = {}; }",
    "const NAMES: Partial<Names> = {};",
  ];
  assertEquals(right.map((line) => [line, refusing(line)]), right.map((line) => [line, 0]));
  assertEquals(refusing("export interface A { a?: number; }", "tools/a.ts"), 0);
});

Deno.test("A file that names a vendor outside of its folders is found, also in a comment", () => {
  const faults = (line: string, file = "types/reply/example.ts"): number =>
    vendorFaults(new Map([[file, `// first\n${line}`]])).length;
  const found = [
    'import { efaAhNumber } from "../ids.ts";',
    'import { Senders } from "../efa/senders.ts";',
    "// libefa takes them back",
    "verbs: /^(ibv|efadv)_create/",
    "if (isEfa(device)) return;",
    "const EFA_SENDERS = 1;",
    "/** On Elastic Fabric Adapters there is none. */",
    "/** {@linkcode listenSrd} */",
    'return transport === "SRD";',
  ];
  assertEquals(found.map((line) => [line, faults(line)]), found.map((line) => [line, 1]));
  const free = ["const byDefault = 1; // EFAULT, default", "the prefab, a srdx"];
  assertEquals(free.map((line) => faults(line)), [0, 0]);
  for (const file of ["internal/a.ts", "wait/b.ts", "types/c.ts", "net/ud/d.ts"]) {
    assertEquals([file, faults(found[0]!, file)], [file, 1]);
  }
  const folders = ["types/efa/a.ts", "net/efa/b.ts", "internal/efa.ts"];
  const rows = ["types/providers.ts", "net/providers.ts", "net/mod.ts"];
  for (const file of [...folders, ...rows, "ffi/efa/c.ts", "efa.ts", "mod.ts", "tests/d.ts"]) {
    assertEquals([file, faults(found[0]!, file)], [file, 0]);
  }
});

Deno.test("A table of folders that has another order than the imports is found", () => {
  const rows = FLOORS.filter((floor) => floor.startsWith("types/")).map((floor) =>
    `| \`${floor}${floor.endsWith(".ts") ? "" : "/"}\` | see \`types/other/\` |`
  );
  const table = (lines: readonly string[]): string =>
    ["| folder | contents |", ...lines].join("\n");
  assertEquals(tableFaults(table(rows)), []);
  const [first, second, ...rest] = rows as [string, string, ...string[]];
  for (
    const wrong of [[second, first, ...rest], rows.slice(1), rows.slice(0, -1), [...rows, first]]
  ) {
    assertEquals(tableFaults(table(wrong)).length, 1);
  }
});

Deno.test("An example that imports what is not exported is found", () => {
  const faults = (file: string, target: string): number =>
    faultsOf(new Map([[file, [target]]])).length;
  assertEquals(faults("examples/a.ts", "internal/checks.ts"), 1);
  assertEquals(faults("examples/a.ts", "net/ud/ud_conn.ts"), 1);
  assertEquals(faults("examples/a.ts", "net/mod.ts"), 0);
  assertEquals(faults("net/ud/ud_conn.ts", "internal/checks.ts"), 0);
});

// The order of folders that `deno task check` holds, on small projects.

import { assert, assertEquals } from "@std/assert";
import { checkHouse } from "../../../tools/house/check.ts";

/** Checks a project of these files. */
async function check(files: Record<string, string>): Promise<string[]> {
  const root = await Deno.makeTempDir();
  try {
    for (const [file, text] of Object.entries(files)) {
      await Deno.mkdir(`${root}/${file}`.replace(/\/[^/]*$/, ""), { recursive: true });
      await Deno.writeTextFile(`${root}/${file}`, text);
    }
    return checkHouse(root);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

const SOUND = {
  "internal/checks.ts": "export const check = 1;",
  "ffi/handles.ts": "export type Handle = bigint;",
  "ffi/library.ts": 'export type { Handle } from "./handles.ts";',
  "types/core/resource.ts":
    'import type { Handle } from "../../ffi/library.ts";\nimport "../../internal/checks.ts";',
  "types/device/context.ts": 'import "../core/resource.ts";\nimport "./port.ts";',
  "types/device/port.ts": "export const port = 1;",
  "mod.ts": 'export * from "./types/device/context.ts";',
  "net/mod.ts": 'import "../mod.ts";\nimport "./socket.ts";\nimport "../internal/checks.ts";',
  "net/socket.ts": 'import type {} from "../mod.ts";\nimport "node:net";',
  "cli/perf/svg.ts": 'import "../shell/text.ts";',
  "cli/shell/text.ts": 'import "@rdma/ibverbs/net";\nimport "@std/cli/parse-args";',
  "rxe/mod.ts": 'import "node:util";',
  "examples/one.ts": 'import "../net/mod.ts";\nimport "../mod.ts";',
  "tests/one_test.ts": 'import "../examples/one.ts";\nimport "../ffi/handles.ts";',
};

Deno.test("checkHouse() finds no fault in a project whose imports run down", async () => {
  assertEquals(await check(SOUND), []);
});

const ABOVE = "types/device is above types/core";
const CIRCLE = "types/device/context.ts -> types/device/port.ts -> types/device/context.ts";

/** A file that replaces a sound one, and the end of what is wrong then. */
const FAULTS: readonly [file: string, text: string, reason: string][] = [
  ["types/core/resource.ts", 'import "../device/port.ts";', ABOVE],
  ["types/core/resource.ts", 'export type P = import("../device/port.ts").P;', ABOVE],
  ["ffi/handles.ts", 'const f = () => import("../types/core/resource.ts");', "is above ffi"],
  ["types/device/port.ts", 'import type {} from "./context.ts";', `circle: ${CIRCLE}`],
  ["examples/one.ts", 'import "../types/device/port.ts";', "modules that are exported"],
  ["internal/checks.ts", 'import "../ffi/handles.ts";', "ffi is above internal"],
  ["internal/checks.ts", 'import "../types/device/port.ts";', "types/device is above internal"],
  ["net/socket.ts", 'import "@std/cli";', "imports nothing but its own files"],
  ["net/socket.ts", 'import "../types/device/port.ts";', "modules that are exported"],
  ["cli/shell/text.ts", 'import "../perf/svg.ts";', "cli/perf is above cli/shell"],
  ["cli/shell/text.ts", 'import "../../internal/checks.ts";', "cli is a package of its own"],
  ["cli/shell/text.ts", 'import "../../mod.ts";', "cli is a package of its own"],
  ["rxe/mod.ts", 'import "@rdma/ibverbs";', "rxe is a package of its own"],
  ["mod.ts", 'import "./tests/one_test.ts";', "tests is above mod.ts"],
  ["types/core/resource.ts", 'import "node:assert";', "imports nothing but its own files"],
  ["types/other/one.ts", "", "has no place in the order of folders"],
  ["types/device/port.ts", `${"dl" + "open"}();`, "uses unsafe functions of Deno, only ffi/ may"],
];

for (const [file, text, reason] of FAULTS) {
  Deno.test(`checkHouse() finds that ${file} must not have ${text}`, async () => {
    const faults = await check({ ...SOUND, [file]: text });
    const found = faults.filter((fault) => fault.startsWith(file) || fault.startsWith("circle"));
    assert(found.some((fault) => fault.endsWith(reason)), faults.join("\n"));
  });
}

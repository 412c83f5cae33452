// The judgement of the verbs that a run of all tests called, and of the lines that tests ran.
import { assertEquals, assertStringIncludes } from "@std/assert";
import { faultsOfCalls } from "../../../tools/coverage/called.ts";
import { belowFloor, linesOfFolders, tableOf } from "../../../tools/coverage/lcov.ts";

const VERBS = ["ibv_alloc_pd", "ibv_alloc_dm"];
const testedOn = (verb: string): string =>
  verb === "ibv_alloc_dm"
    ? "the recording provider"
    : verb === "ibv_wr_flush"
    ? "a newer kernel"
    : "a device";

const CASES: readonly [title: string, library: string[], device: string[], faults: string[]][] = [
  ["nothing wrong", VERBS, ["ibv_alloc_pd"], []],
  ["no calls at all", [], [], ["no test called: ibv_alloc_pd, ibv_alloc_dm"]],
  ["a verb that only the library tier called", VERBS, [], [
    "no test called on a device: ibv_alloc_pd",
  ]],
  ["an excuse that is not needed", [], VERBS, [
    "called on a device, and docs/verbs.md says otherwise: ibv_alloc_dm",
  ]],
];

for (const [title, library, device, faults] of CASES) {
  Deno.test(`faultsOfCalls() finds ${title}`, () => {
    const called = { library: new Set(library), device: new Set(device) };
    assertEquals(faultsOfCalls(VERBS, called, testedOn), faults);
    const newer = { library: new Set(["ibv_wr_flush"]), device: new Set(device) };
    assertEquals(faultsOfCalls(["ibv_wr_flush"], newer, testedOn), []);
  });
}

const LCOV = ["SF:/p/ffi/a.ts", "DA:1,3", "DA:2,0", "end_of_record"]
  .concat(["SF:/p/ffi/b.ts", "DA:7,1", "end_of_record", "SF:/p/types/c.ts", "DA:1,0"])
  .concat(["end_of_record", "SF:/elsewhere/ffi/d.ts", "DA:1,0", "end_of_record"]).join("\n");

Deno.test("linesOfFolders() counts the lines of the project's folders", () => {
  const folders = linesOfFolders(LCOV, "/p");
  assertEquals(folders, { ffi: { run: 2, all: 3 }, types: { run: 0, all: 1 } });
  assertStringIncludes(tableOf(folders, { ffi: 66 }), "| `ffi/` | 3 | 66.6 % | 66 % |");
});

Deno.test("belowFloor() finds folders of which too few lines ran, or none at all", () => {
  assertEquals(belowFloor(linesOfFolders(LCOV, "/p"), { ffi: 66.6 }), []);
  assertEquals(belowFloor(linesOfFolders(LCOV, "/p"), { ffi: 66.7, net: 1 }), [
    "ffi/: 66.6 % of the lines ran, 66.7 % must",
    "net/: 0 % of the lines ran, 1 % must",
  ]);
});

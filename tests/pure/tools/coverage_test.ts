// The judgement of the verbs that a run of all tests called.
import { assertEquals } from "@std/assert";
import { faultsOfCalls } from "../../../tools/coverage/called.ts";

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

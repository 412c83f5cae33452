// Each fence of the documents and of the examples is run by a test, or stands in a table with the reason.

import { assertEquals, assertMatch } from "@std/assert";
import { NOT_RUN as NOT_RUN_COMMANDS } from "../../../tools/docs/commands.ts";
import {
  allFences,
  commandsOf,
  exampleFences,
  type Fence,
  NOT_RUN,
} from "../../../tools/docs/fences.ts";
import { inProject } from "../../../tools/host/paths.ts";

const documents = allFences();
const examples = exampleFences();
const all = [...documents, ...examples];

Deno.test("outputs in the documents follow what prints them", () => {
  const shown = all.flatMap(({ output }) => output ?? []);
  const lost = all.filter((fence) => fence.kind === "output" && !shown.includes(fence));
  assertEquals(lost.map(placeOf), []);
  const printing = ["device", "commands"];
  const others = all.filter(({ kind, output }) => output && !printing.includes(kind));
  assertEquals(others.map(placeOf), [], "no test compares these outputs");
});

Deno.test("functions in the documents have a caller, and peers and callers exist", () => {
  const functions = documents.filter(({ kind }) => kind === "functions");
  assertEquals(functions.filter(({ marks }) => !marks.caller).map(placeOf), []);
  const callers = Deno.readTextFileSync(inProject("tests/device/docs/callers.ts"));
  for (const { marks: { caller, peer } } of documents) {
    if (caller) assertMatch(callers, new RegExp(`^  ${caller}[:,]`, "m"));
    if (peer) Deno.statSync(inProject(`tests/device/docs/peers/${peer}.ts`));
  }
});

Deno.test("commands that are not run stand in the documents", () => {
  const commands = all.flatMap((fence) => fence.kind === "commands" ? commandsOf(fence) : []);
  const written = new Set(commands);
  assertEquals(Object.keys(NOT_RUN_COMMANDS).filter((command) => !written.has(command)), []);
});

Deno.test("fences that are not run stand in the table with the reason", () => {
  const left = all.filter(({ kind }) => kind === "not run");
  const places = new Set(left.map(({ document, section }) => `${document}: ${section}`));
  assertEquals([...places].sort(), Object.keys(NOT_RUN).sort());
});

function placeOf({ document, line }: Fence): string {
  return `${document}:${line}`;
}

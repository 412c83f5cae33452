// What the workflows and .ci/run start: versions that a run does not show to be wrong.

import { assertEquals, assertGreater } from "@std/assert";
import { inProject } from "../../../tools/host/paths.ts";

const FOLDER = ".github/workflows";
const workflows = [...Deno.readDirSync(inProject(FOLDER))].map(({ name }) => `${FOLDER}/${name}`);
const programs = [".ci/run", ...workflows.toSorted()];

function read(path: string): string {
  return Deno.readTextFileSync(inProject(path));
}

Deno.test("The workflows and .ci/run start the version of Deno that CONTRIBUTING.md names", () => {
  const versions = programs.flatMap((program) =>
    [...read(program).matchAll(/deno@(\d[\d.]+)|deno-version: v(\S+)/g)].map(([, a, b]) => a ?? b)
  );
  assertGreater(versions.length, 3);
  const [, named] = /Deno (\d[\d.]+) or newer: CI/.exec(read("CONTRIBUTING.md"))!;
  assertEquals([...new Set(versions)], [named]);
});

Deno.test("The actions of the workflows are pinned by a commit, with its version beside it", () => {
  const uses = workflows.flatMap((
    workflow,
  ) => [...read(workflow).matchAll(/\buses: (?!\.\/)(.*)/g)]);
  assertGreater(uses.length, 5);
  const pinned = /^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/;
  assertEquals(uses.map(([, action]) => action!).filter((action) => !pinned.test(action)), []);
});

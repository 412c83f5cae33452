// What the workflows and .ci/run start.

import { assertEquals, assertGreater } from "@std/assert";
import denoJson from "../../../deno.json" with { type: "json" };
import { LOWEST_DENO } from "../../../ffi/platform.ts";
import { inProject } from "../../../tools/host/paths.ts";

const FOLDER = ".github/workflows";
const workflows = [...Deno.readDirSync(inProject(FOLDER))].map(({ name }) => `${FOLDER}/${name}`);
const programs = [".ci/run", ...workflows.toSorted()];

function read(path: string): string {
  return Deno.readTextFileSync(inProject(path));
}

for (const program of programs) {
  Deno.test(`The tasks that ${program} starts exist`, () => {
    // A function of .ci/run starts those that follow its name.
    const tasks = Array.from(
      read(program).matchAll(/(?:\btask |^run )([\w:]+)/gm),
      ([, name]) => name!,
    );
    assertGreater(tasks.length, 0);
    assertEquals(tasks.filter((name) => !Object.hasOwn(denoJson.tasks, name)), []);
  });
}

Deno.test("The workflows and .ci/run start the version of Deno that CONTRIBUTING.md names", () => {
  const versions = programs.flatMap((program) =>
    Array.from(
      read(program).matchAll(/deno@(\d[\d.]+)|deno-version: v(\S+)/g),
      ([, a, b]) => a ?? b,
    )
  );
  assertGreater(versions.length, 3);
  const [, named] = /Deno (\d[\d.]+) or newer: CI/.exec(read("CONTRIBUTING.md"))!;
  assertEquals([...new Set(versions)], [named]);
});

Deno.test("The workflow of each change runs the tests by the lowest and the newest Deno", () => {
  const [, versions] = /^ +deno: \[(.*)\]$/m.exec(read(`${FOLDER}/ci.yml`))!;
  const [lowest, newest] = versions!.split(", ").map((word) => JSON.parse(word));
  assertEquals([lowest, newest], [LOWEST_DENO, "latest"]);
});

Deno.test("The nightly workflow runs every long test", () => {
  const text = read(`${FOLDER}/nightly.yml`);
  const long = Object.keys(denoJson.tasks)
    .filter((name) => /^(fuzz|mutants|soak|test:.*)$/.test(name) && name !== "test:versions");
  assertGreater(long.length, 5);
  assertEquals(long.filter((name) => !text.includes(`- task ${name}`)), []);
});

Deno.test("The package is published with provenance, from what the task builds", () => {
  const text = read(`${FOLDER}/publish.yml`);
  const steps = ["id-token: write", "deno task package", "deno publish"];
  const places = steps.map((step) => text.indexOf(step));
  assertEquals(places, places.toSorted((a, b) => a - b));
  assertEquals(places.includes(-1), false);
});

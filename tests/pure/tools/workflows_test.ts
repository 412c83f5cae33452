// What the workflows and .ci/run start, and the names of the long tests.

import { assertEquals, assertGreater } from "@std/assert";
import denoJson from "../../../deno.json" with { type: "json" };
import { LOWEST_DENO } from "../../../ffi/platform.ts";
import { inProject, sourcesIn } from "../../../tools/host/paths.ts";
import { runDeno, stdOptions } from "../../subprocess.ts";

const FOLDER = ".github/workflows";
const workflows = [...Deno.readDirSync(inProject(FOLDER))].map(({ name }) => `${FOLDER}/${name}`);
const programs = [".ci/run", ...workflows.toSorted()];

function read(path: string): string {
  return Deno.readTextFileSync(inProject(path));
}

const NAMED = ["run", "-A", "--no-check", ...stdOptions(), "tools/named.ts"];

/** The names that `deno task long` shows. */
const { stdout } = await runDeno([...NAMED, "long"]);
const long = Array.from(stdout.matchAll(/^ {2}(\w+)/gm), ([, name]) => name!);

for (const program of programs) {
  Deno.test(`The tasks that ${program} starts exist`, () => {
    // A function of .ci/run starts those that follow its name.
    const tasks = Array.from(
      read(program).matchAll(/(?:\btask |^run )(\w+)(?: (\w+))?/gm),
      ([, task, name]) => ({ task: task!, name: name! }),
    );
    assertGreater(tasks.length, 0);
    assertEquals(tasks.filter(({ task }) => !Object.hasOwn(denoJson.tasks, task)), []);
    assertEquals(tasks.filter(({ task, name }) => task === "long" && !long.includes(name)), []);
  });
}

Deno.test("The workflows and .ci/run start the version of Deno that CONTRIBUTING.md names", () => {
  const versions = programs.flatMap((program) =>
    [...read(program).matchAll(/deno@(\d[\d.]+)|deno-version: v(\S+)/g)].map(([, a, b]) => a ?? b)
  );
  assertGreater(versions.length, 3);
  const [, named] = /Deno (\d[\d.]+) or newer: CI/.exec(read("CONTRIBUTING.md"))!;
  assertEquals([...new Set(versions)], [named]);
});

Deno.test("The workflow of each change runs the tests by the lowest and the newest Deno", () => {
  const [, versions] = /^ +deno: \[(.*)\]$/m.exec(read(`${FOLDER}/ci.yml`))!;
  assertEquals(JSON.parse(`[${versions}]`).slice(0, 2), [LOWEST_DENO, "latest"]);
});

Deno.test("The nightly workflow runs every long test, and CONTRIBUTING.md explains it", () => {
  const [nightly, contributing] = [read(`${FOLDER}/nightly.yml`), read("CONTRIBUTING.md")];
  assertGreater(long.length, 5);
  // Those of the versions run for each change.
  const missing = long.filter((name) => !nightly.includes(`- task long ${name}`));
  assertEquals(missing, ["versions"]);
  assertEquals(long.filter((name) => !contributing.includes(`\n| \`${name}\` `)), []);
});

Deno.test("A name that no long test has is refused", async () => {
  const { code, stderr } = await runDeno([...NAMED, "long", "toString"]);
  assertEquals([code, stderr], [1, 'error: "toString" is none of these\n']);
});

Deno.test("The package is published with provenance, after the tests, from what the task builds", () => {
  const text = read(`${FOLDER}/publish.yml`);
  const steps = ["id-token: write", "ci.yml", "needs: test", "deno task package", "deno publish"];
  const places = steps.map((step) => text.indexOf(step));
  assertEquals(places, places.toSorted((a, b) => a - b));
  assertEquals(places.includes(-1), false);
});

Deno.test("The actions of the workflows are pinned by a commit, with its version beside it", () => {
  const uses = workflows.flatMap((
    workflow,
  ) => [...read(workflow).matchAll(/\buses: (?!\.\/)(.*)/g)]);
  assertGreater(uses.length, 5);
  const pinned = /^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/;
  assertEquals(uses.map(([, action]) => action!).filter((action) => !pinned.test(action)), []);
});

Deno.test("The job on a kernel of today fails without soft-RoCE", () => {
  const [, job] = /\n {2}own-device:(.*?)\n {2}\w/s.exec(read(`${FOLDER}/ci.yml`))!;
  assertEquals(/^ +sudo modprobe rdma_rxe$/m.test(job!), true);
  assertEquals(/^ +if: |\bif sudo/m.test(job!), false);
});

Deno.test("Packages of npm are locked, with those that they depend on", () => {
  const { specifiers } = JSON.parse(read("tools/deno.lock"));
  const named = sourcesIn("tools").flatMap((file) =>
    Array.from(read(file).matchAll(/"(npm:[^"]+@[\d.]+)"/g), ([, specifier]) => specifier!)
  );
  assertEquals([...new Set(named)].sort(), Object.keys(specifiers).sort());
  const loading = Object.entries(denoJson.tasks).filter(([, line]) => line.includes("--lock"));
  assertEquals(loading.map(([task]) => task), ["bench", "check", "generate", "long", "package"]);
});

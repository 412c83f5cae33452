// The snippets of the documents that use a device, as they are written: on soft-RoCE, and RSS on the stub HCA.

import { assertEquals, assertGreater } from "@std/assert";
import { writeSnippets } from "../../../tools/docs/documents.ts";
import { allFences, type Fence } from "../../../tools/docs/fences.ts";
import { deviceTest, RXE } from "../setup.ts";
import { CHANGES } from "./peers/packets.ts";
import { type Peer, runProgram, runTogether } from "./running.ts";

const fences = allFences();
const programs = fences.filter(({ kind }) => kind === "device")
  .map((fence) => ({ ...fence, text: fence.text.replaceAll('"rxe0"', `"${RXE}"`) }));
const withPeer = programs.filter(({ marks }) => marks.peer !== undefined);

Deno.test("the documents have snippets that use a device", () => {
  assertGreater(programs.length, 7);
});

deviceTest("programs of the documents that need no peer run, and print what is shown", async () => {
  await runTogether(programs.filter(({ marks }) => marks.peer === undefined));
});

for (const fence of withPeer) {
  deviceTest(`the program in ${placeOf(fence)} runs until its peer stops it`, async () => {
    const { peer } = fence.marks;
    const text = peer === "packets" ? changed(fence.text, CHANGES) : fence.text;
    await using written = await writeSnippets([{ ...fence, text }]);
    const { stderr, code, signal } = await runProgram(written.files[0]!, {
      peer: (await import(`./peers/${peer}.ts`)).default as Peer,
    });
    assertEquals([stderr, signal === null ? code : 0], ["", 0]);
  });
}

// The others go on from it, and use what only a longer program has.
const [python] = fences.filter(({ kind }) => kind === "python");

deviceTest(`the program of pyverbs in ${placeOf(python!)} runs`, async () => {
  const args = ["-c", `import older_enums\n${python!.text.replace('"rxe0"', `"${RXE}"`)}`];
  const env = { PYTHONPATH: new URL("../../python", import.meta.url).pathname };
  const { code, stderr } = await new Deno.Command("/usr/bin/python3", { args, env }).output();
  assertEquals([new TextDecoder().decode(stderr), code], ["", 0]);
});

function placeOf({ document, section, line }: Fence): string {
  return `${document}, "${section}", line ${line}`;
}

function changed(text: string, changes: readonly (readonly [string, string])[]): string {
  return changes.reduce((text, [from, to]) => text.replaceAll(from, to), text);
}

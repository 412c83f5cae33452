// The examples in the comments of the library that open a device. The others are run by "deno test --doc" on any host.

import { assertEquals, assertGreater } from "@std/assert";
import { writeSnippets } from "../../../tools/docs/documents.ts";
import { differenceFrom, exampleFences } from "../../../tools/docs/fences.ts";
import { deviceTest } from "../setup.ts";
import { STUB } from "../stub.ts";
import datagrams from "./peers/datagrams.ts";
import { runProgram, runTogether } from "./running.ts";

const examples = exampleFences().filter(({ kind }) => kind === "device");
const [front, ...others] = examples.toSorted((a, b) =>
  Number(b.document === "mod.ts") - Number(a.document === "mod.ts")
);

deviceTest("the example of mod.ts replies to a datagram, and prints what is shown", async () => {
  await using written = await writeSnippets([front!]);
  const { code, stdout, stderr } = await runProgram(written.files[0]!, { peer: datagrams });
  assertEquals([stderr, code], ["", 0]);
  const output = { ...front!.output!, marks: { varies: "::ffff:10.0.0.1" } };
  assertEquals(differenceFrom(output, stdout), undefined);
});

deviceTest("the other examples that open a device run, and print what is shown", async () => {
  assertGreater(others.length, 10);
  // soft-RoCE has no XRC domains.
  const changed = others.map((fence) =>
    fence.document.endsWith("xrc_domain.ts")
      ? { ...fence, text: fence.text.replace("open()", `open("${STUB}")`) }
      : fence
  );
  await runTogether(changed, ["--allow-net", "--allow-read"]);
});

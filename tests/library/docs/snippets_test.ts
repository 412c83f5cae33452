// The snippets of the documents that open a device, on the recorder: all but those that wait for messages.

import { assertEquals, assertGreater } from "@std/assert";
import {
  documents,
  needsDevice,
  readDocument,
  snippetsOf,
  writeSnippets,
} from "../../../tools/docs/documents.ts";
import { stdArguments } from "../../../tools/host/jsr.ts";
import { inProject, project } from "../../../tools/host/paths.ts";

const WAITS = /for await|\/net"|\/rxe"|\/cli"/;

Deno.test("snippets that open a device and wait for nothing run on the recorder", async () => {
  const snippets = documents().flatMap((name) => snippetsOf(name, readDocument(name)))
    .filter((snippet) => needsDevice(snippet) && !WAITS.test(snippet.text));
  assertGreater(snippets.length, 3);
  await using written = await writeSnippets(
    // The recorder has a device of another name.
    snippets.map((snippet) => ({ ...snippet, text: snippet.text.replace('("rxe0")', "()") })),
  );
  for (const file of written.files) {
    const preload = `--preload=${inProject("tests/provider/recorder.ts")}`;
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", ...await stdArguments(), preload, file],
      cwd: project,
      env: { NO_COLOR: "1" },
      stdin: "null",
    }).output();
    assertEquals(code, 0, `${file}: ${new TextDecoder().decode(stderr)}`);
  }
});

// Folders for the time of one run.

import { assertEquals, assertRejects } from "@std/assert";
import { SetupError } from "../../host/report.ts";
import { inTemporary, TemporaryFolder } from "../../host/temporary.ts";
import { programs } from "./programs.ts";

Deno.test("TemporaryFolder is removed with all in it when it is disposed", async () => {
  const parent = await Deno.makeTempDir();
  {
    await using _ran = await programs({}, { TMPDIR: parent });
    await using folder = await TemporaryFolder.make("rxe-test-");
    assertEquals(folder.path.startsWith(`${parent}/rxe-test-`), true);
    await Deno.mkdir(`${folder.path}/a/b`, { recursive: true });
  }
  assertEquals([...Deno.readDirSync(parent)], []);
  await Deno.remove(parent);
});

/** What a system says of a folder of temporary files that it does not take. */
const REFUSED: readonly [folder: string, says: string][] = [
  ["/nowhere", "No such file or directory: tmpdir"],
  ["/dev/null", "Not a directory: tmpdir"],
];

for (const [folder, says] of REFUSED) {
  Deno.test(`TemporaryFolder.make() tells a remedy when TMPDIR is ${folder}`, async () => {
    await using _ran = await programs({}, { TMPDIR: folder });
    await assertRejects(
      () => TemporaryFolder.make("rxe-test-"),
      SetupError,
      `Cannot use the temporary folder ${folder}: ${says}; make room there, or set TMPDIR to another folder`,
    );
  });
}

Deno.test("inTemporary() tells of a full folder, and passes on errors that are not of the system", async () => {
  await using _ran = await programs({}, { TMPDIR: "" });
  await assertRejects(
    () => inTemporary(() => Deno.writeFile("/dev/full", new Uint8Array(1))),
    SetupError,
    "Cannot use the temporary folder /tmp: No space left on device: writefile '/dev/full'; make",
  );
  const program = (): never => {
    throw new SetupError("make failed: a.c: No space left on device");
  };
  const message = "Cannot use the temporary folder /tmp: No space left on device; make room";
  // What is told already is not told of another folder.
  await assertRejects(() => inTemporary(() => inTemporary(program)), SetupError, message);
  const defect = new TypeError("a bug");
  const defective = (): never => {
    throw defect;
  };
  assertEquals(await assertRejects(() => inTemporary(defective)), defect);
});

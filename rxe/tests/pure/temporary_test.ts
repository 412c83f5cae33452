// Folders for the time of one run: which of them a start removes.

import { assertEquals, assertRejects } from "@std/assert";
import { SetupError } from "../../host/report.ts";
import { exists } from "../../host/shell.ts";
import { inTemporary, TemporaryFolder } from "../../host/temporary.ts";
import { programs } from "./programs.ts";

const MADE = "rxe-test-";

/** A folder of temporary files, for a test. */
async function inFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  await using _ran = await programs({}, { TMPDIR: folder });
  await body(folder).finally(() => Deno.remove(folder, { recursive: true }));
}

function names(folder: string): string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
}

Deno.test("TemporaryFolder is removed with all in it when it is disposed", async () => {
  await inFolder(async (parent) => {
    const folder = await TemporaryFolder.make(MADE);
    assertEquals(folder.path.startsWith(`${parent}/${MADE}`), true);
    await Deno.mkdir(`${folder.path}/a/b`, { recursive: true });
    await Deno.writeTextFile(`${folder.path}/z`, "");
    await folder[Symbol.asyncDispose]();
    assertEquals(names(parent), []);
  });
});

Deno.test("TemporaryFolder.make() removes what no process owns, and nothing else", async () => {
  await inFolder(async (parent) => {
    for (const name of [`${MADE}empty`, `${MADE}left/1`, `${MADE}new`, "other-1"]) {
      await Deno.mkdir(`${parent}/${name}`, { recursive: true });
    }
    for (const name of [`${MADE}left/lock`, `${MADE}left/1/a`, `${MADE}new/a`, `${MADE}file`]) {
      await Deno.writeTextFile(`${parent}/${name}`, "");
    }
    await Deno.symlink("other-1", `${parent}/${MADE}link`);
    await using owned = await TemporaryFolder.make(MADE);
    await using last = await TemporaryFolder.make(MADE);
    const kept = [`${MADE}file`, `${MADE}link`, `${MADE}new`, "other-1"];
    const own = [owned.path, last.path].map((path) => path.slice(parent.length + 1));
    assertEquals(names(parent), [...kept, ...own].sort());
  });
});

Deno.test("TemporaryFolder.make() leaves alone the folders of other users", async () => {
  await inFolder(async (parent) => {
    await Deno.mkdir(`${parent}/${MADE}1`);
    const { uid } = Deno;
    Deno.uid = () => uid()! + 1;
    await using folder = await TemporaryFolder.make(MADE).finally(() => Deno.uid = uid);
    assertEquals([exists(`${parent}/${MADE}1`), exists(folder.path)], [true, true]);
  });
});

Deno.test("TemporaryFolder.make() makes another folder when one goes before it is locked", async () => {
  await inFolder(async (parent) => {
    const { makeTempDir, open } = Deno;
    const calls: string[] = [];
    Deno.makeTempDir = async (options) => {
      const path = await makeTempDir(options);
      if (calls.push("make") === 1) await Deno.remove(path);
      return path;
    };
    Deno.open = async (path, options) => {
      const file = await open(path, options);
      if (calls.push("open") === 3) await Deno.remove(path);
      return file;
    };
    await using folder = await TemporaryFolder.make(MADE)
      .finally(() => Object.assign(Deno, { makeTempDir, open }));
    assertEquals(calls, ["make", "make", "open", "make", "open"]);
    assertEquals(exists(`${folder.path}/lock`), true);
    assertEquals(names(parent).length, 2);
  });
});

Deno.test("Starts at the same time leave each other's folders alone", async () => {
  await inFolder(async (parent) => {
    for (let round = 0; round < 20; round++) {
      const folders = await Promise.all(
        Array.from({ length: 8 }, () => TemporaryFolder.make(MADE)),
      );
      const here = folders.map(({ path }) => exists(`${path}/lock`));
      assertEquals(here, folders.map(() => true));
      await Promise.all(folders.map((folder) => folder[Symbol.asyncDispose]()));
    }
    assertEquals(names(parent), []);
  });
});

/** What a system says of a folder of temporary files that it does not take. */
const REFUSED: readonly [folder: string, says: string][] = [
  ["/nowhere", "No such file or directory: tmpdir"],
  ["/dev/null", "Not a directory: tmpdir"],
];

for (const [folder, says] of REFUSED) {
  Deno.test(`TemporaryFolder.make() names a remedy when TMPDIR is ${folder}`, async () => {
    await using _ran = await programs({}, { TMPDIR: folder });
    await assertRejects(
      () => TemporaryFolder.make(MADE),
      SetupError,
      `Cannot use the temporary folder ${folder}: ${says}; make room there, or set TMPDIR to another folder`,
    );
  });
}

Deno.test("inTemporary() reports a full folder, and passes on errors that are not of the system", async () => {
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
  // What has a message already gets none of another folder.
  await assertRejects(() => inTemporary(() => inTemporary(program)), SetupError, message);
  const defect = new TypeError("a bug");
  const defective = (): never => {
    throw defect;
  };
  assertEquals(await assertRejects(() => inTemporary(defective)), defect);
});

// Packages of other releases, with small programs in the place of apt's: what becomes of downloads that fail.

import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { type Archive, fillFromArchive } from "../../host/archive.ts";
import { SetupError } from "../../host/report.ts";
import { capture, exists } from "../../host/shell.ts";
import { programs } from "./programs.ts";

const WANTED = { suite: "trixie", what: "the kernel", megabytes: 70 };
const CANNOT = "Cannot fetch the kernel, about 70 MB: ";

/** Plays apt: what it downloads is there the first or the second time, or never. */
function apt(download: string): Record<string, string> {
  return { "apt-get": `case "$*" in *download*) ${download};; esac` };
}

async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Downloads one package and leaves a file of it. */
function filling(folder: string): (archive: Archive) => Promise<void> {
  return async (archive) => {
    await Deno.writeTextFile(`${folder}/begun`, "", { createNew: true });
    const files = await archive.download(["thing"]);
    assertEquals(files, [`${folder}/apt/archives/thing.deb`]);
    await Deno.writeTextFile(`${folder}/thing`, "");
  };
}

Deno.test("fillFromArchive() leaves what was made of the packages, and nothing of apt", async () => {
  await using ran = await programs(apt("touch thing.deb"));
  await inFolder(async (folder) => {
    await fillFromArchive(WANTED, folder, filling(folder));
    assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), ["begun", "thing"]);
    const own = `apt-get -c ${folder}/apt/apt.conf `;
    assertEquals(ran.calls().every((call) => call.startsWith(own)), true);
    const signed = ran.calls().filter((call) =>
      call.includes("APT::Get::AllowUnauthenticated=false")
    );
    assertEquals(signed, ran.calls());
  });
  assertEquals(ran.said(), "set-up: fetching the kernel, about 70 MB\n");
});

Deno.test("fillFromArchive() removes what has come when a download fails, and tries once more", async () => {
  const broken =
    `[ "$N" -gt 2 ] || { echo half >thing.deb; echo "E: Hash Sum mismatch" >&2; exit 100; }
    [ ! -e thing.deb ] || exit 1; touch thing.deb`;
  await using ran = await programs(apt(broken));
  await inFolder(async (folder) => {
    await fillFromArchive(WANTED, folder, filling(folder));
    assertEquals(exists(`${folder}/thing`), true);
  });
  assertStringIncludes(
    ran.said(),
    `set-up: ${CANNOT}E: Hash Sum mismatch\nset-up: removing what has come, and trying once more\n`,
  );
});

Deno.test("fillFromArchive() rejects when a download fails twice", async () => {
  await using ran = await programs(apt(`echo "E: Failed to fetch" >&2; exit 100`));
  await inFolder(async (folder) => {
    const fill = (): Promise<void> => fillFromArchive(WANTED, folder, filling(folder));
    await assertRejects(fill, SetupError, `${CANNOT}E: Failed to fetch`);
  });
  assertEquals(ran.calls().filter((call) => call.includes(" download ")).length, 2);
});

Deno.test("fillFromArchive() says what is missing and how big it is when there is no network", async () => {
  await using ran = await programs({ "apt-get": "echo no route >&2; exit 100" });
  await inFolder(async (folder) => {
    const fill = (): Promise<void> =>
      fillFromArchive(WANTED, folder, () => Promise.reject(new Error("it goes on")));
    const message = `${CANNOT}Cannot read Debian's package lists: no route`;
    await assertRejects(fill, SetupError, message);
  });
  assertEquals(ran.calls().length, 3);
});

Deno.test("fillFromArchive() does not try again when the fault is in the program", async () => {
  await using ran = await programs(apt("touch thing.deb"));
  await inFolder(async (folder) => {
    const fill = (): Promise<void> =>
      fillFromArchive(WANTED, folder, () => Promise.reject(new TypeError("a bug")));
    await assertRejects(fill, TypeError, "a bug");
  });
  assertEquals(ran.calls().length, 1);
});

for (const [suite, expires] of [["trixie", ""], ["sid", " check-valid-until=no"]] as const) {
  Deno.test(`fillFromArchive() asks apt for ${suite} only, by Debian's keys`, async () => {
    await using _ran = await programs({ "apt-get": "" });
    await inFolder(async (folder) => {
      await fillFromArchive({ ...WANTED, suite }, folder, async ({ options }) => {
        assertEquals(
          await Deno.readTextFile(`${folder}/apt/sources.list`),
          "deb [arch=amd64 target=Packages " +
            `signed-by=/usr/share/keyrings/debian-archive-keyring.gpg${expires}] ` +
            `http://deb.debian.org/debian ${suite} main\n`,
        );
        const { stdout } = await capture("apt-config", "dump", ...options);
        const setting = (name: string): string | undefined =>
          new RegExp(`^${name} "(.*)";$`, "m").exec(stdout)?.[1];
        assertEquals(
          ["Dir::State", "Dir::State::status", "Dir::Cache", "Dir::Etc::sourceparts"].map(setting),
          [`${folder}/apt`, `${folder}/apt/status`, `${folder}/apt`, "/dev/null"],
        );
        assertEquals(/^(APT::Update|DPkg)::/m.test(stdout), false);
      });
    });
  });
}

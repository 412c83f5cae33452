// Installing and unpacking packages, with small programs in the place of apt's: what is asked of them, and what becomes
// of their failures.

import { assertEquals, assertInstanceOf, assertRejects, assertStringIncludes } from "@std/assert";
import type * as Apt from "../../../rxe/host/apt.ts";
import {
  dependencyOf,
  downloadPackage,
  ensurePackages,
  unpack,
} from "../../../rxe/host/packages.ts";
import { SetupError } from "../../../rxe/host/report.ts";
import { environment, listen } from "./machines.ts";

const SIGNED_ONLY = [
  "-o APT::Get::AllowUnauthenticated=false",
  "-o Acquire::AllowInsecureRepositories=false",
  "-o Acquire::AllowWeakRepositories=false",
  "-o Acquire::AllowDowngradeToInsecureRepositories=false",
].join(" ");

/** What a test finds after its programs have run. */
interface Ran {
  /** The folder in which the programs run. */
  readonly folder: string;
  /** Each call: the program and its arguments. */
  calls(): string[];
  said(): string;
}

/**
 * Runs with programs of these scripts before all others. Each call is noted; `$N` in a script is how
 * often the program was called.
 */
async function withPrograms(
  programs: Readonly<Record<string, string>>,
  body: (ran: Ran) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  const log = `${folder}/calls`;
  await Deno.writeTextFile(log, "");
  for (const [name, script] of Object.entries(programs)) {
    const lines = [
      "#!/bin/sh",
      `echo "${name} $*" >>'${log}'`,
      `N=$(grep -c '^${name} ' '${log}')`,
      `FOLDER='${folder}'`,
      script,
    ];
    await Deno.writeTextFile(`${folder}/${name}`, lines.join("\n"), { mode: 0o755 });
  }
  using _path = environment({ PATH: `${folder}:${Deno.env.get("PATH")}` });
  using heard = listen();
  try {
    await body({
      folder,
      calls: () => Deno.readTextFileSync(log).trimEnd().split("\n"),
      said: () => heard.text(),
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

let count = 0;

/** The module as a process of its own has it: it reads the package lists once. */
function freshApt(): Promise<typeof Apt> {
  return import(`../../../rxe/host/apt.ts?${count++}`);
}

const KNOWS_ALL = `shift 2; for name; do echo "Package: $name"; done`;
const NEED = (file: string) => [
  { package: "there", file: "/", reason: "is there already" },
  { package: "thing", file, reason: "does it" },
];

Deno.test("ensurePackages() asks for nothing when every file is there", async () => {
  await withPrograms({ "apt-get": "exit 1", "apt-cache": "exit 1" }, async ({ calls, said }) => {
    await ensurePackages([{ package: "there", file: "/", reason: "is there" }]);
    assertEquals({ calls: calls(), said: said() }, { calls: [""], said: "" });
  });
});

Deno.test("ensurePackages() installs what is missing, from signed lists, and says why", async () => {
  const programs = { "apt-get": `touch "$FOLDER/file"`, "apt-cache": KNOWS_ALL };
  await withPrograms(programs, async ({ folder, calls, said }) => {
    await ensurePackages(NEED(`${folder}/file`));
    assertEquals(calls(), [
      "apt-cache show --no-all-versions thing",
      `apt-get install --yes --no-install-recommends thing ${SIGNED_ONLY} ` +
      "-o APT::Status-Fd=3 -o APT::Keep-Downloaded-Packages=false -o DPkg::Lock::Timeout=60",
    ]);
    assertEquals(said(), "set-up: installing thing (does it)\n");
  });
});

Deno.test("ensurePackages() throws when a package does not bring its file", async () => {
  await withPrograms({ "apt-get": "", "apt-cache": KNOWS_ALL }, async ({ folder }) => {
    await assertRejects(
      () => ensurePackages(NEED(`${folder}/file`)),
      SetupError,
      `Cannot use package thing: it has brought no ${folder}/file`,
    );
  });
});

Deno.test("install() gives apt-get no input and its texts in English, and tells its errors", async () => {
  const script = `env | grep -E '^(LC_ALL|DEBIAN_FRONTEND)=' | sort >"$FOLDER/env"
    echo noise; echo "pmstatus:thing:1:half" >&3
    { echo fine; echo "E: one"; echo "an error two"; echo "E: 3"; echo "E: 4"; echo "E: 5"; } >&2
    exit 100`;
  await withPrograms({ "apt-get": script, "apt-cache": KNOWS_ALL }, async ({ folder }) => {
    const { install } = await freshApt();
    const { message } = await assertRejects(() => install(["thing", "other"]), SetupError);
    assertEquals(
      message,
      "Cannot install packages: E: one\nan error two\nE: 3\nE: 4\n" +
        "By hand: sudo apt-get update && " +
        "sudo apt-get install --yes --no-install-recommends thing other",
    );
    assertEquals(
      Deno.readTextFileSync(`${folder}/env`),
      "DEBIAN_FRONTEND=noninteractive\nLC_ALL=C\n",
    );
  });
});

const UPDATE = `apt-get ${SIGNED_ONLY} update`;

Deno.test("ensureListed() reads the package lists when they lack a package, once", async () => {
  const programs = { "apt-get": "", "apt-cache": "echo Package: one" };
  await withPrograms(programs, async ({ calls, said }) => {
    const { ensureListed } = await freshApt();
    await ensureListed(["one"]);
    assertEquals(calls().filter((call) => call === UPDATE), []);
    await ensureListed(["one", "two"]);
    await ensureListed(["two"]);
    assertEquals(calls().filter((call) => call === UPDATE), [UPDATE]);
    assertEquals(said(), "set-up: reading Debian's package lists (apt-get update)\n");
  });
});

for (
  const [how, script] of [
    ["ends with a status", "echo first >&2; exit 1"],
    ["says Err:", "echo 'Err:1 x'; echo first >&2"],
    ["warns that it failed", "echo 'W: Failed to fetch x' >&2; echo first >&2"],
  ] as const
) {
  Deno.test(`ensureListed() tries again when apt-get update ${how}`, async () => {
    const programs = { "apt-get": `[ "$N" = 3 ] || { ${script}; }`, "apt-cache": "" };
    await withPrograms(programs, async ({ calls, said }) => {
      const { ensureListed } = await freshApt();
      await ensureListed(["thing"]);
      assertEquals(calls().filter((call) => call === UPDATE).length, 3);
      assertStringIncludes(said(), "set-up: apt-get update failed, attempt 2 of 3\n");
    });
  });
}

Deno.test("ensureListed() throws with what apt-get said after three failures", async () => {
  const programs = { "apt-get": "echo no servers >&2; exit 1", "apt-cache": "" };
  await withPrograms(programs, async ({ calls }) => {
    const { ensureListed } = await freshApt();
    await assertRejects(
      () => ensureListed(["thing"]),
      Error,
      "Cannot read Debian's package lists: no servers",
    );
    assertEquals(calls().filter((call) => call === UPDATE).length, 3);
  });
});

Deno.test("withFreshLists() repeats what failed after reading the lists, once for each process", async () => {
  await withPrograms({ "apt-get": "" }, async ({ calls, said }) => {
    const { withFreshLists, RightsError } = await freshApt();
    let tries = 0;
    const action = (error: Error) => () => {
      tries++;
      return tries === 1 ? Promise.reject(error) : Promise.resolve(tries);
    };
    await assertRejects(() => withFreshLists(action(new TypeError("a bug"))), TypeError);
    tries = 0;
    const rights = new RightsError("do it");
    await assertRejects(
      () => withFreshLists(action(rights)),
      SetupError,
      "root rights; run: do it",
    );
    assertEquals(calls(), [""]);
    tries = 0;
    assertEquals(await withFreshLists(action(new SetupError("old lists"))), 2);
    assertStringIncludes(said(), "set-up: old lists\n");
    assertEquals(calls(), [UPDATE]);
    tries = 0;
    await assertRejects(() => withFreshLists(action(new SetupError("still"))), SetupError, "still");
    assertEquals(calls(), [UPDATE]);
  });
});

Deno.test("what only root may do goes through sudo, or names the command", async () => {
  const uid = Deno.uid;
  Deno.uid = () => 1000;
  const sudo = (password: boolean): string => `[ "$2" != true ] || exit ${password ? 1 : 0}`;
  const exists = Deno.statSync;
  Deno.statSync =
    ((path: string) => exists(path === "/usr/bin/sudo" ? "/" : path)) as typeof exists;
  try {
    await withPrograms({ sudo: sudo(false), "apt-cache": "" }, async ({ calls }) => {
      const { ensureListed } = await freshApt();
      await ensureListed(["thing"]);
      assertEquals(calls().slice(1), [
        "sudo -n true",
        `sudo -n env LC_ALL=C DEBIAN_FRONTEND=noninteractive ${UPDATE}`,
      ]);
    });
    await withPrograms({ sudo: sudo(true), "apt-cache": "" }, async () => {
      const { ensureListed, RightsError } = await freshApt();
      const error = await assertRejects(() => ensureListed(["thing"]), Error);
      assertInstanceOf(error, RightsError);
      assertEquals(error.message, "this needs root rights; run: sudo apt-get update");
    });
  } finally {
    Object.assign(Deno, { uid, statSync: exists });
  }
});

Deno.test("downloadPackage() asks for one package, into a folder that it makes", async () => {
  const script =
    `case "$*" in *--print-uris*) echo "'http://host/thing_1.deb' thing_1.deb 7000000 SHA256:1";;
    *) pwd >"$FOLDER/where";; esac`;
  await withPrograms({ "apt-get": script, "apt-cache": KNOWS_ALL }, async (ran) => {
    const target = `${ran.folder}/a/b`;
    assertEquals(await downloadPackage("thing", target), `${target}/thing_1.deb`);
    assertEquals(ran.calls(), [
      "apt-cache show --no-all-versions thing",
      "apt-get download --print-uris thing",
      `apt-get ${SIGNED_ONLY} -o Acquire::Retries=3 download thing`,
    ]);
    assertEquals(Deno.readTextFileSync(`${ran.folder}/where`), `${target}\n`);
    assertEquals(ran.said(), "set-up: downloading thing, 7 MB\n");
  });
});

Deno.test("downloadPackage() throws with what apt-get said", async () => {
  const failing = (when: string): string =>
    `case "$*" in ${when}) echo gone >&2; exit 1;; *) echo "'http://h/f' f 1 x";; esac`;
  for (const when of ["*--print-uris*", "*Retries*"]) {
    const programs = { "apt-get": failing(when), "apt-cache": KNOWS_ALL };
    await withPrograms(programs, async ({ folder }) => {
      await assertRejects(
        () => downloadPackage("thing", folder),
        SetupError,
        "Cannot download package thing: gone",
      );
    });
  }
});

Deno.test("unpack() takes the files that match, without those excluded", async () => {
  const folder = await Deno.makeTempDir();
  await Deno.mkdir(`${folder}/tree/usr/share`, { recursive: true });
  for (const name of ["usr/wanted", "usr/other", "usr/share/wanted"]) {
    await Deno.writeTextFile(`${folder}/tree/${name}`, name);
  }
  const tar = new Deno.Command("tar", {
    args: ["-c", "-f", `${folder}/a`, "-C", `${folder}/tree`, "."],
  });
  await tar.output();
  await withPrograms({ "dpkg-deb": `cat "$2"` }, async ({ calls }) => {
    await unpack(`${folder}/a`, `${folder}/out`, ["usr/*wanted"], ["usr/share"]);
    assertEquals(calls(), [`dpkg-deb --fsys-tarfile ${folder}/a`]);
    assertEquals([...Deno.readDirSync(`${folder}/out/usr`)].map(({ name }) => name), ["wanted"]);
  });
  await withPrograms({ "dpkg-deb": `cat "$2"; echo broken >&2; exit 1` }, async () => {
    await assertRejects(
      () => unpack(`${folder}/a`, `${folder}/out`, ["usr/*"]),
      SetupError,
      `Cannot unpack ${folder}/a: broken`,
    );
  });
  await Deno.remove(folder, { recursive: true });
});

Deno.test("dependencyOf() finds the package behind a meta package", async () => {
  const programs = (depends: string): Record<string, string> => ({
    "apt-cache": `[ "$1" = depends ] && { echo '${depends}'; exit; }; ${KNOWS_ALL}`,
  });
  await withPrograms(programs("meta\n  Depends: meta-6.1-1"), async ({ calls }) => {
    assertEquals(await dependencyOf("meta", /meta-\d\S*/), "meta-6.1-1");
    assertEquals(calls(), ["apt-cache show --no-all-versions meta", "apt-cache depends meta"]);
  });
  for (const [depends, shown] of [["", "nothing"], [" other ", "other"]] as const) {
    await withPrograms(programs(depends), async () => {
      await assertRejects(
        () => dependencyOf("meta", /meta-\d\S*/),
        SetupError,
        `Cannot find the package behind meta: apt-cache shows ${shown}`,
      );
    });
  }
});

// Installing and unpacking packages, with small programs in the place of apt's: what is asked of them, and what becomes
// of their failures.

import {
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import type * as Apt from "../../host/apt.ts";
import { dependencyOf, downloadPackage, ensurePackages, unpack } from "../../host/packages.ts";
import { main, SetupError } from "../../host/report.ts";
import { capture, demand, exists, lastLines } from "../../host/shell.ts";
import { programs } from "./programs.ts";
import { Timers } from "./timers.ts";

const SIGNED_ONLY = [
  "-o APT::Get::AllowUnauthenticated=false",
  "-o Acquire::AllowInsecureRepositories=false",
  "-o Acquire::AllowWeakRepositories=false",
  "-o Acquire::AllowDowngradeToInsecureRepositories=false",
].join(" ");
const UPDATE = `apt-get ${SIGNED_ONLY} update`;
const KNOWS_ALL = `shift 2; for name; do echo "Package: $name"; done`;

let count = 0;

/** The module as a process of its own has it: it reads the package lists once. */
function freshApt(): Promise<typeof Apt> {
  return import(`../../host/apt.ts?${count++}`);
}

function isUpdate(call: string): boolean {
  return call === UPDATE;
}

Deno.test("ensurePackages() asks for nothing when every file is there", async () => {
  await using ran = await programs({ "apt-get": "exit 1", "apt-cache": "exit 1" });
  await ensurePackages([{ package: "there", file: "/", reason: "is there" }]);
  assertEquals([ran.calls(), ran.said()], [[], ""]);
});

Deno.test("ensurePackages() installs what is missing, from signed lists, and says why", async () => {
  await using ran = await programs({ "apt-get": `touch "$FOLDER/file"`, "apt-cache": KNOWS_ALL });
  const thing = { package: "thing", file: `${ran.folder}/file`, reason: "does it" };
  await ensurePackages([{ package: "there", file: "/", reason: "is there already" }, thing]);
  assertEquals(ran.calls(), [
    "apt-cache show --no-all-versions thing",
    `apt-get install --yes --no-install-recommends thing ${SIGNED_ONLY} ` +
    "-o APT::Status-Fd=3 -o APT::Keep-Downloaded-Packages=false -o DPkg::Lock::Timeout=60",
  ]);
  assertEquals(ran.said(), "set-up: installing thing (does it)\n");
  const other = { package: "thing", file: "/nowhere", reason: "does it" };
  const message = "Cannot use package thing: it has brought no /nowhere";
  await assertRejects(() => ensurePackages([other]), SetupError, message);
});

Deno.test("install() gives apt-get no input and its texts in English, and shows its errors", async () => {
  const script = `env | grep -E '^(LC_ALL|DEBIAN_FRONTEND)=' | sort >"$FOLDER/env"
    echo noise; echo "noise too" >&3; sleep 0.1; echo "pmstatus:thing:1:half" >&3
    { echo "fine: so"; echo "E: one"; echo "an error two"; echo "E: 3"; echo "E: 4"; echo "E: 5"; } >&2
    exit 100`;
  await using ran = await programs({ "apt-get": script, "apt-cache": KNOWS_ALL });
  const { install } = await freshApt();
  const { now } = Date;
  let time = 0;
  Date.now = () => time += 2000;
  const { message } = await assertRejects(() => install(["thing", "other"]), SetupError)
    .finally(() => Date.now = now);
  assertEquals(ran.said(), "set-up: installation 1 %, half\n");
  assertEquals(
    message,
    "Cannot install packages: E: one\nan error two\nE: 3\nE: 4\n" +
      "By hand: sudo apt-get update && " +
      "sudo apt-get install --yes --no-install-recommends thing other",
  );
  const variables = Deno.readTextFileSync(`${ran.folder}/env`);
  assertEquals(variables, "DEBIAN_FRONTEND=noninteractive\nLC_ALL=C\n");
});

Deno.test("ensureListed() reads the package lists when they lack a package, once", async () => {
  await using ran = await programs({
    "apt-get": "",
    "apt-cache": "echo Package: one; echo A Package: two",
  });
  const { ensureListed } = await freshApt();
  await ensureListed(["one"]);
  assertEquals(ran.calls().filter(isUpdate), []);
  await ensureListed(["one", "two"]);
  await ensureListed(["two"]);
  assertEquals(ran.calls().filter(isUpdate), [UPDATE]);
  assertEquals(ran.said(), "set-up: reading Debian's package lists (apt-get update)\n");
});

for (
  const [how, script] of [
    ["ends with a status", "echo first >&2; exit 1"],
    ["says Err:", "echo 'Err:1 x'; echo first >&2"],
    ["warns that it failed", "echo 'W: Failed to fetch x' >&2; echo first >&2"],
  ] as const
) {
  Deno.test(`ensureListed() tries again when apt-get update ${how}`, async () => {
    const update = `[ "$N" = 3 ] || { ${script}; }`;
    await using ran = await programs({ "apt-get": update, "apt-cache": "" });
    const { ensureListed } = await freshApt();
    await ensureListed(["thing"]);
    assertEquals(ran.calls().filter(isUpdate).length, 3);
    assertStringIncludes(ran.said(), "set-up: apt-get update failed, attempt 2 of 3\n");
  });
}

Deno.test("ensureListed() reads the lists once when apt-get update names an error elsewhere", async () => {
  await using ran = await programs({ "apt-get": "echo 'Get:1 Err: x'", "apt-cache": "" });
  const { ensureListed } = await freshApt();
  await ensureListed(["thing"]);
  assertEquals(ran.calls().filter(isUpdate), [UPDATE]);
});

Deno.test("ensureListed() throws with what apt-get said after three failures", async () => {
  await using ran = await programs({ "apt-get": "echo no servers >&2; exit 1", "apt-cache": "" });
  const { ensureListed } = await freshApt();
  const message = "Cannot read Debian's package lists: no servers";
  await assertRejects(() => ensureListed(["thing"]), Error, message);
  assertEquals(ran.calls().filter(isUpdate).length, 3);
});

Deno.test("withFreshLists() repeats what failed after reading the lists, once for each process", async () => {
  await using ran = await programs({ "apt-get": "" });
  const { withFreshLists, RightsError } = await freshApt();
  let tries = 0;
  const action = (error: Error) => {
    tries = 0;
    return withFreshLists(() => ++tries === 1 ? Promise.reject(error) : Promise.resolve(tries));
  };
  await assertRejects(() => action(new TypeError("a bug")), TypeError);
  await assertRejects(
    () => action(new RightsError("do it")),
    SetupError,
    "root rights; run: do it",
  );
  assertEquals(ran.calls(), []);
  assertEquals(await action(new SetupError("old lists")), 2);
  assertStringIncludes(ran.said(), "set-up: old lists\n");
  await assertRejects(() => action(new SetupError("still")), SetupError, "still");
  assertEquals(ran.calls(), [UPDATE]);
});

Deno.test("what only root may do goes through sudo, or names the command", async () => {
  const { uid, statSync } = Deno;
  Deno.uid = () => 1000;
  Deno.statSync =
    ((path: string) => statSync(path === "/usr/bin/sudo" ? "/" : path)) as typeof statSync;
  try {
    const script = '[ "$2" != true ] || exit $(cat "$FOLDER/password")';
    await using ran = await programs({ sudo: script, "apt-cache": "" });
    await Deno.writeTextFile(`${ran.folder}/password`, "0");
    const { ensureListed } = await freshApt();
    await ensureListed(["thing"]);
    assertEquals(ran.calls().slice(1), [
      "sudo -n true",
      `sudo -n env LC_ALL=C DEBIAN_FRONTEND=noninteractive ${UPDATE}`,
    ]);
    await Deno.writeTextFile(`${ran.folder}/password`, "1");
    const other = await freshApt();
    const error = await assertRejects(() => other.ensureListed(["thing"]), Error);
    assertInstanceOf(error, other.RightsError);
    assertEquals(error.message, "this needs root rights; run: sudo apt-get update");
  } finally {
    Object.assign(Deno, { uid, statSync });
  }
});

const STATUSES: readonly (readonly [output: string, status: string | undefined])[] = [
  [
    "pmstatus:a:10.4:Unpacking a (amd64)\npmstatus:libb:amd64:55.6:Installing b\npmst",
    "installation 56 %, Installing b",
  ],
  ["dlstatus:1:5.5:Retrieving file \r\n", "download 6 %, Retrieving file"],
  ["Reading package lists...\n", undefined],
  ["no pmstatus:a:1:x", undefined],
];

Deno.test("parseStatus() reads the last line when a piece of output has several", async () => {
  const { parseStatus } = await freshApt();
  for (const [output, status] of STATUSES) assertEquals(parseStatus(output), status);
});

Deno.test("downloadPackage() asks for one package, into a folder that it makes", async () => {
  const script =
    `case "$*" in *--print-uris*) echo "'http://host/thing_1.deb' thing_1.deb 7000000 SHA256:1";;
    *) pwd >"$FOLDER/where";; esac`;
  await using ran = await programs({ "apt-get": script, "apt-cache": KNOWS_ALL });
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

Deno.test("downloadPackage() says every second how far it is", async () => {
  const script = `case "$*" in *--print-uris*) echo "'http://host' b_1.deb 7000000 x";;
    *) touch "$FOLDER/begun"; until [ -e "$FOLDER/end" ]; do sleep 0.01; done;; esac`;
  await using ran = await programs({ "apt-get": script, "apt-cache": KNOWS_ALL });
  using timers = new Timers((ms) => ms === 1000 ? undefined : ms);
  const downloaded = downloadPackage("b", ran.folder);
  while (!exists(`${ran.folder}/begun`)) await new Promise((resolve) => setTimeout(resolve, 5));
  timers.end();
  await Deno.writeFile(`${ran.folder}/b_1.deb`, new Uint8Array(2_400_000));
  timers.end();
  await Deno.writeTextFile(`${ran.folder}/end`, "");
  await downloaded;
  const line = (text: string): string => `set-up: downloading b, ${text} MB\n`;
  assertEquals(ran.said(), line("7") + line("0 of 7") + line("2 of 7"));
  assertEquals(timers.open, []);
});

Deno.test("downloadPackage() throws with what apt-get said", async () => {
  for (const when of ["*--print-uris*", "*Retries*"]) {
    const script =
      `case "$*" in ${when}) echo gone >&2; exit 1;; *) echo "'http://h/f' f 1 x";; esac`;
    await using ran = await programs({ "apt-get": script, "apt-cache": KNOWS_ALL });
    const message = "Cannot download package thing: gone";
    await assertRejects(() => downloadPackage("thing", ran.folder), SetupError, message);
  }
});

Deno.test("capture() gives a program no input and its texts in English, and keeps what it writes", async () => {
  const script = "cat; echo $LC_ALL $NO_COLOR $DEBIAN_FRONTEND; echo e >&2; exit 3";
  assertEquals(await capture("sh", "-c", script), {
    status: 3,
    stdout: "C 1 noninteractive\n",
    stderr: "e\n",
  });
  const missing = "Cannot run no-such-program: it is not installed";
  await assertRejects(() => capture("no-such-program"), SetupError, missing);
  const refused = "Cannot run /etc: Failed to spawn '/etc': Permission denied";
  await assertRejects(() => capture("/etc"), SetupError, refused);
});

Deno.test("demand() throws with the end of what a program said when it fails", async () => {
  assertEquals(await demand("echo", "a"), "a\n");
  const message = "sh -c echo a; exit 2 failed (2): a";
  await assertRejects(() => demand("sh", "-c", "echo a; exit 2"), SetupError, message);
  assertEquals(lastLines("\na\nb\nc\n\n", 2), "b\nc");
});

Deno.test("main() ends with the status, or says what is no defect of the program", async () => {
  await using ran = await programs({});
  const { exit } = Deno;
  const ended = (body: () => Promise<number>): Promise<unknown> => main(body).catch((end) => end);
  // Nothing goes on after it.
  Deno.exit = (status) => {
    throw status;
  };
  try {
    assertEquals(await ended(() => Promise.resolve(3)), 3);
    assertEquals(await ended(() => Promise.reject(new SetupError("no kernel"))), 1);
    const defect = new TypeError("a bug");
    assertEquals(await ended(() => Promise.reject(defect)), defect);
    assertEquals(await ended(() => Deno.mkdir("/dev/null/a") as Promise<never>), 1);
  } finally {
    Deno.exit = exit;
  }
  assertEquals([ran.said(), new SetupError("x").name], [
    "error: no kernel\nerror: Not a directory: mkdir '/dev/null/a'\n",
    "SetupError",
  ]);
});

Deno.test("exists() distinguishes what is missing from what cannot be looked for", () => {
  assertEquals(["/", "/nowhere", "/dev/null/file"].map(exists), [true, false, false]);
  assertThrows(() => exists(`/${"x".repeat(256)}`));
});

Deno.test("unpack() takes the files that match, with options of tar", async () => {
  const script = 'tar -c -C "$FOLDER/tree" .; [ "$N" = 1 ] || { echo broken >&2; exit 1; }';
  await using ran = await programs({ "dpkg-deb": script });
  const { folder } = ran;
  await Deno.mkdir(`${folder}/tree/usr/share`, { recursive: true });
  for (const name of ["usr/wanted", "usr/other", "usr/share/wanted"]) {
    await Deno.writeTextFile(`${folder}/tree/${name}`, name);
  }
  await unpack(`${folder}/a`, `${folder}/out`, ["usr/*wanted"], ["--exclude=./usr/share"]);
  assertEquals(ran.calls(), [`dpkg-deb --fsys-tarfile ${folder}/a`]);
  assertEquals([...Deno.readDirSync(`${folder}/out/usr`)].map(({ name }) => name), ["wanted"]);
  await Deno.writeTextFile(`${folder}/calls`, "");
  await unpack(`${folder}/a`, `${folder}/flat`, ["usr/*other"], ["--transform=s,.*/,,"]);
  assertEquals([...Deno.readDirSync(`${folder}/flat`)].map(({ name }) => name), ["other"]);
  const failing = (): Promise<void> => unpack(`${folder}/a`, `${folder}/out`, ["usr/*"]);
  await assertRejects(failing, SetupError, `Cannot unpack ${folder}/a: broken`);
});

Deno.test("dependencyOf() finds the package behind a meta package", async () => {
  const script = `[ "$1" = depends ] && { cat "$FOLDER/depends"; exit; }; ${KNOWS_ALL}`;
  await using ran = await programs({ "apt-cache": script });
  const dependency = async (depends: string): Promise<string> => {
    await Deno.writeTextFile(`${ran.folder}/depends`, depends);
    return await dependencyOf("meta", /meta-\d\S*/);
  };
  assertEquals(await dependency("meta\n  Depends: meta-6.1-1"), "meta-6.1-1");
  assertEquals(ran.calls(), ["apt-cache show --no-all-versions meta", "apt-cache depends meta"]);
  for (const [depends, shown] of [["", "nothing"], [" other ", "other"]] as const) {
    const message = `Cannot find the package behind meta: apt-cache shows ${shown}`;
    await assertRejects(() => dependency(depends), SetupError, message);
  }
});

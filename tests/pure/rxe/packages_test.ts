// Whether the set-up takes packages that nobody has signed, or that differ from what the package list says.

import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { downloadPackage } from "../../../rxe/host/packages.ts";
import { SetupError } from "../../../rxe/host/report.ts";

/** A repository of one package in a folder, and an apt that knows no other one. */
interface Repository extends AsyncDisposable {
  readonly folder: string;
  /** The file of the package. */
  readonly deb: string;
}

/** Runs with apt's state in a folder; `source` may say that the repository is trusted. */
async function repository(source: string, settings: string): Promise<Repository> {
  const folder = await Deno.makeTempDir();
  // Apt downloads as another user.
  await Deno.chmod(folder, 0o755);
  for (const name of ["repo", "lists/partial", "archives/partial", "etc"]) {
    await Deno.mkdir(`${folder}/${name}`, { recursive: true });
  }
  const deb = `${folder}/repo/thing.deb`;
  await build(folder, deb, "whole");
  const bytes = await Deno.readFile(deb);
  const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
  await Deno.writeTextFile(
    `${folder}/repo/Packages`,
    [
      ...[
        "Package: thing",
        "Version: 1",
        "Architecture: all",
        "Maintainer: nobody <n@example.org>",
      ],
      ...[`Filename: ./thing.deb`, `Size: ${bytes.length}`, `SHA256: ${sum}`, "Description: x", ""],
    ].join("\n"),
  );
  await Deno.writeTextFile(`${folder}/etc/sources.list`, `deb ${source} file:${folder}/repo ./\n`);
  await Deno.writeTextFile(
    `${folder}/apt.conf`,
    `Dir::Etc "${folder}/etc"; Dir::State::lists "${folder}/lists"; Dir::State::status "${folder}/status";
Dir::Cache "${folder}"; Dir::Etc::sourceparts "/dev/null"; Dir::Etc::parts "/dev/null";
APT::Sandbox::User "root"; ${settings}\n`,
  );
  await Deno.writeTextFile(`${folder}/status`, "");
  Deno.env.set("APT_CONFIG", `${folder}/apt.conf`);
  // The lists of a host whose configuration allows it.
  await new Deno.Command("apt-get", {
    args: ["-o", "Acquire::AllowInsecureRepositories=true", "update"],
    stdout: "null",
    stderr: "null",
  }).output();
  return {
    folder,
    deb,
    [Symbol.asyncDispose]: async () => {
      Deno.env.delete("APT_CONFIG");
      await Deno.remove(folder, { recursive: true });
    },
  };
}

async function build(folder: string, deb: string, contents: string): Promise<void> {
  await Deno.mkdir(`${folder}/tree/DEBIAN`, { recursive: true });
  await Deno.writeTextFile(`${folder}/tree/contents`, contents);
  await Deno.writeTextFile(
    `${folder}/tree/DEBIAN/control`,
    "Package: thing\nVersion: 1\nArchitecture: all\nMaintainer: nobody <n@example.org>\nDescription: x\n",
  );
  const { success } = await new Deno.Command("dpkg-deb", {
    args: ["--build", "--root-owner-group", `${folder}/tree`, deb],
    stdout: "null",
  }).output();
  assertEquals(success, true);
}

Deno.test("downloadPackage() downloads a package that is as its list says", async () => {
  await using repo = await repository("[trusted=yes]", "");
  await Deno.mkdir(`${repo.folder}/out`);
  const file = await downloadPackage("thing", `${repo.folder}/out`);
  assertEquals(await Deno.readFile(file), await Deno.readFile(repo.deb));
});

Deno.test("downloadPackage() refuses a package that differs from its list", async () => {
  await using repo = await repository("[trusted=yes]", "");
  await build(repo.folder, repo.deb, "other");
  const download = downloadPackage("thing", `${repo.folder}/out`);
  const { message } = await assertRejects(() => download, SetupError);
  assertStringIncludes(message, "Cannot download package thing");
});

Deno.test("downloadPackage() refuses a package that nobody signed, even if the host would take it", async () => {
  const settings =
    `APT::Get::AllowUnauthenticated "true"; Acquire::AllowInsecureRepositories "true";`;
  await using repo = await repository("", settings);
  const download = downloadPackage("thing", `${repo.folder}/out`);
  const { message } = await assertRejects(() => download, SetupError);
  assertStringIncludes(message, "Cannot download package thing");
  assertStringIncludes(message, "authenticated");
});

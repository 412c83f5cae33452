// Whether the set-up takes packages that nobody has signed, or that differ from what the package list says.

import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { downloadPackage } from "../../host/packages.ts";
import { SetupError } from "../../host/report.ts";
import { capture } from "../../host/shell.ts";

const CONTROL = `Package: thing
Version: 1
Architecture: all
Maintainer: nobody <n@example.org>
`;

/** Makes a package, below a folder of apt's, and returns its bytes. */
async function build(folder: string, contents: string): Promise<Uint8Array<ArrayBuffer>> {
  const deb = `${folder}/repo/thing.deb`;
  await Deno.mkdir(`${folder}/tree/DEBIAN`, { recursive: true });
  await Deno.writeTextFile(`${folder}/tree/contents`, contents);
  await Deno.writeTextFile(`${folder}/tree/DEBIAN/control`, `${CONTROL}Description: x\n`);
  const build = ["--build", "--root-owner-group", `${folder}/tree`, deb];
  assertEquals((await capture("dpkg-deb", ...build)).status, 0);
  return await Deno.readFile(deb);
}

/**
 * Runs with an apt that knows no other repository than one of one package in a folder; `source` may say that
 * it is trusted.
 */
async function withRepository(
  source: string,
  settings: string,
  use: (folder: string, deb: Uint8Array) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  // Apt downloads as another user.
  await Deno.chmod(folder, 0o755);
  for (const name of ["repo", "lists/partial", "archives/partial", "etc"]) {
    await Deno.mkdir(`${folder}/${name}`, { recursive: true });
  }
  const deb = await build(folder, "whole");
  const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", deb)).toHex();
  const files = {
    "repo/Packages": `${CONTROL}Filename: ./thing.deb
Size: ${deb.length}
SHA256: ${sum}
Description: x
`,
    "etc/sources.list": `deb ${source} file:${folder}/repo ./\n`,
    "apt.conf": `Dir::Etc "${folder}/etc"; Dir::State::lists "${folder}/lists";
Dir::State::status "${folder}/status"; Dir::Cache "${folder}";
Dir::Etc::sourceparts "/dev/null"; Dir::Etc::parts "/dev/null";
APT::Sandbox::User "root"; ${settings}
`,
    status: "",
  };
  for (const [name, text] of Object.entries(files)) {
    await Deno.writeTextFile(`${folder}/${name}`, text);
  }
  Deno.env.set("APT_CONFIG", `${folder}/apt.conf`);
  try {
    // The lists of a host whose configuration allows it.
    await capture("apt-get", "-o", "Acquire::AllowInsecureRepositories=true", "update");
    await use(folder, deb);
  } finally {
    Deno.env.delete("APT_CONFIG");
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("downloadPackage() downloads a package only as its list says", async () => {
  await withRepository("[trusted=yes]", "", async (folder, deb) => {
    assertEquals(await Deno.readFile(await downloadPackage("thing", `${folder}/out`)), deb);
    await build(folder, "other");
    const download = (): Promise<string> => downloadPackage("thing", `${folder}/other`);
    await assertRejects(download, SetupError, "Cannot download package thing");
  });
});

Deno.test("downloadPackage() refuses a package that nobody signed, even if the host would take it", async () => {
  const settings =
    `APT::Get::AllowUnauthenticated "true"; Acquire::AllowInsecureRepositories "true";`;
  await withRepository("", settings, async (folder) => {
    const download = (): Promise<string> => downloadPackage("thing", `${folder}/out`);
    const { message } = await assertRejects(download, SetupError, "Cannot download package thing");
    assertStringIncludes(message, "authenticated");
  });
});

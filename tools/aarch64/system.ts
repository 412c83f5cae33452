/** An aarch64 system in the cache: Debian's libraries, and Deno. Nothing of it is installed. */

import { cached } from "../../rxe/host/cached.ts";
import { unpack } from "../../rxe/host/packages.ts";
import { SetupError } from "../../rxe/host/report.ts";
import { capture, lastLines } from "../../rxe/host/shell.ts";
import { fetchDeno } from "../host/other_deno.ts";

/** The newest version of which npm has Deno for aarch64. */
const DENO = "2.9.5";

const PACKAGES = [
  "ibverbs-providers",
  "libc6",
  "libgcc-s1",
  "libibverbs1",
  "libnl-3-200",
  "libnl-route-3-200",
];

export interface System {
  /** The folder that is its root. */
  readonly root: string;
  /** The path of Deno, a program for aarch64. */
  readonly deno: string;
}

/**
 * Downloads what is missing. apt-get checks signatures of the packages, npm checks the hash of Deno.
 *
 * @throws {SetupError} If something cannot be downloaded.
 */
export async function ensureSystem(): Promise<System> {
  const root = await cached("aarch64-libraries", fillRoot);
  return { root, deno: await fetchDeno(DENO, "aarch64") };
}

async function fillRoot(folder: string): Promise<void> {
  const work = `${folder}/apt`;
  for (const name of ["archives/partial", "lists/partial"]) {
    await Deno.mkdir(`${work}/${name}`, { recursive: true });
  }
  // apt-get of the host knows packages of the host's architecture only. This configuration has lists of its own.
  await Deno.writeTextFile(`${work}/status`, "");
  await Deno.writeTextFile(
    `${work}/apt.conf`,
    [
      'APT::Architecture "arm64";',
      'APT::Architectures { "arm64"; };',
      // Another user, who downloads for root, may not write here.
      'APT::Sandbox::User "root";',
      `Dir::State "${work}";`,
      `Dir::State::status "${work}/status";`,
      `Dir::Cache "${work}";`,
    ].join("\n"),
  );
  await apt(work, "update", "-o", "APT::Update::Error-Mode=any");
  await apt(work, "download", ...PACKAGES);
  for (const { name } of [...Deno.readDirSync(work)]) {
    if (name.endsWith(".deb")) await unpack(`${work}/${name}`, folder, ["*"]);
  }
  await Deno.remove(work, { recursive: true });
}

async function apt(work: string, ...args: string[]): Promise<void> {
  const words = ["-C", work, `APT_CONFIG=${work}/apt.conf`, "apt-get", ...args];
  const { status, stdout, stderr } = await capture("env", ...words);
  if (status === 0) return;
  throw new SetupError(
    `Cannot download packages for arm64: apt-get ${args[0]}: ${lastLines(stderr || stdout, 4)}`,
  );
}

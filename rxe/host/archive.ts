/** Packages of other releases of Debian, by an apt of its own: the host's settings and lists stay as they are. */

import { readLists, runWithStatus, SIGNED_ONLY, withStatus } from "./apt.ts";
import { ensurePackages } from "./packages.ts";
import { say, SetupError } from "./report.ts";

const MIRROR = "http://deb.debian.org/debian";

const KEYS = {
  package: "debian-archive-keyring",
  file: "/usr/share/keyrings/debian-archive-keyring.gpg",
  reason: "has the keys by which Debian signs its lists",
};

/** Suites that change every day. Their lists expire, but a mirror may still have old ones. */
const EXPIRING = ["sid", "trixie-backports"];

/** The packages that are needed from a release. */
export interface Wanted {
  /** The release's name in Debian's archive. */
  readonly suite: string;
  /** Debian's name of the architecture; amd64 by default. */
  readonly arch?: string;
  /** For messages: what is made from the packages. */
  readonly what: string;
  /** For messages: the size of the packages, about. */
  readonly megabytes: number;
}

/** Apt with the lists of one release. */
export interface Archive {
  /** The options that make apt-get and apt-cache use them. */
  readonly options: readonly string[];
  /** Downloads packages, with `needed` those as well that they depend on; the paths of their files. */
  download(names: readonly string[], needed?: "needed"): Promise<string[]>;
}

/**
 * Fills a folder from packages of a release. Apt checks the signatures of the lists and the hash of each package. If a
 * package does not arrive or differs from the lists, the folder is emptied, and all is tried once more.
 *
 * @throws {SetupError} That says what is missing, and how big it is.
 */
export async function fillFromArchive(
  wanted: Wanted,
  folder: string,
  fill: (archive: Archive) => Promise<void>,
): Promise<void> {
  const { what, megabytes } = wanted;
  for (let attempt = 1;; attempt++) {
    try {
      const work = `${folder}/apt`;
      const archive = await open(wanted, work);
      say(`set-up: fetching ${what}, about ${megabytes} MB`);
      await fill(archive);
      return await Deno.remove(work, { recursive: true });
    } catch (error) {
      if (!(error instanceof SetupError)) throw error;
      const message = `Cannot fetch ${what}, about ${megabytes} MB: ${error.message}`;
      if (attempt === 2 || error instanceof UnreachableError) throw new SetupError(message);
      say(`set-up: ${message}\nset-up: removing what has come, and trying once more`);
      for (const { name } of [...Deno.readDirSync(folder)]) {
        await Deno.remove(`${folder}/${name}`, { recursive: true });
      }
    }
  }
}

class UnreachableError extends SetupError {}

async function open({ suite, arch = "amd64" }: Wanted, work: string): Promise<Archive> {
  await ensurePackages([KEYS]);
  for (const name of ["archives/partial", "lists/partial"]) {
    await Deno.mkdir(`${work}/${name}`, { recursive: true });
  }
  const expires = EXPIRING.includes(suite) ? " check-valid-until=no" : "";
  const source = `[arch=${arch} target=Packages signed-by=${KEYS.file}${expires}]`;
  const files = {
    "sources.list": `deb ${source} ${MIRROR} ${suite} main\n`,
    "apt.conf": configuration(work, arch),
    status: "",
  };
  for (const [name, text] of Object.entries(files)) {
    await Deno.writeTextFile(`${work}/${name}`, text);
  }
  const options = ["-c", `${work}/apt.conf`];
  try {
    await readLists(["apt-get", ...options, ...SIGNED_ONLY, "update"]);
  } catch (error) {
    throw error instanceof SetupError ? new UnreachableError(error.message) : error;
  }
  const download: Archive["download"] = async (names, needed) => {
    const how = needed
      ? ["install", "--download-only", "--yes", "--no-install-recommends"]
      : ["download"];
    const command = ["env", "-C", `${work}/archives`, "apt-get", ...options, ...how, ...names];
    const errors = await runWithStatus(withStatus(command, ["Acquire::Retries=3"]));
    if (errors !== undefined) throw new SetupError(errors);
    return [...Deno.readDirSync(`${work}/archives`)].map(({ name }) => `${work}/archives/${name}`)
      .filter((path) => path.endsWith(".deb")).sort();
  };
  return { options, download };
}

/** The host's own configuration is overridden, except for how its network is reached. */
function configuration(work: string, arch: string): string {
  return `#clear APT::Architectures;
#clear APT::Update;
#clear DPkg;
APT::Architecture "${arch}";
APT::Architectures { "${arch}"; };
// Another user, who downloads for root, may not write here.
APT::Sandbox::User "root";
Dir::Etc::sourcelist "${work}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "${work}";
Dir::State::lists "${work}/lists";
Dir::State::status "${work}/status";
Dir::Cache "${work}";
Dir::Cache::archives "${work}/archives";
`;
}

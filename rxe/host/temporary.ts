/** Folders for the duration of one run. */

import { attempt } from "./system_error.ts";

const LOCK = "lock";

/**
 * A folder in that of temporary files, removed when this is disposed. The process holds a lock on a file in it, which
 * ends with the process, however that ends: the next start removes folders whose lock nobody holds. A lock also works
 * between containers, where process ids do not.
 */
export class TemporaryFolder implements AsyncDisposable {
  readonly path: string;
  readonly #lock: Deno.FsFile;

  private constructor(path: string, lock: Deno.FsFile) {
    this.path = path;
    this.#lock = lock;
  }

  /**
   * Makes a folder, and removes those of this user that no process owns any more.
   *
   * @param prefix What only the names of such folders begin with.
   * @throws {SetupError} If it cannot be made.
   */
  static async make(prefix: string): Promise<TemporaryFolder> {
    await removeAbandoned(prefix);
    return await inTemporary(async () => {
      for (;;) {
        const path = await Deno.makeTempDir({ dir: temporary(), prefix });
        const lock = await locked(path);
        if (lock !== undefined) return new TemporaryFolder(path, lock);
      }
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    using _lock = this.#lock;
    await remove(this.path);
  }
}

/**
 * Runs an action with files in such a folder.
 *
 * @throws {SetupError} With a remedy, if the system refuses it.
 */
export function inTemporary<T>(action: () => T | Promise<T>): Promise<T> {
  const remedy = "make room there, or set TMPDIR to another folder";
  return attempt(`use the temporary folder ${temporary()}`, remedy, action);
}

function temporary(): string {
  return Deno.env.get("TMPDIR") || "/tmp";
}

/** The lock of a new folder; undefined if another start has removed the folder before it was locked. */
async function locked(folder: string): Promise<Deno.FsFile | undefined> {
  const lock = await unlessGone(Deno.open(`${folder}/${LOCK}`, { create: true, write: true }));
  if (lock === undefined) return undefined;
  await lock.lock(true);
  if ((await lock.stat()).nlink !== 0) return lock;
  lock.close();
  return undefined;
}

async function removeAbandoned(prefix: string): Promise<void> {
  try {
    for await (const { name, isDirectory } of Deno.readDir(temporary())) {
      if (isDirectory && name.startsWith(prefix)) await removeIfAbandoned(`${temporary()}/${name}`);
    }
  } catch {
    // The folder of temporary files cannot be read. If making a new one there fails too, that error says more.
  }
}

async function removeIfAbandoned(folder: string): Promise<void> {
  try {
    // Another user could put links into a folder of theirs.
    if ((await Deno.lstat(folder)).uid !== Deno.uid()) return;
    using lock = await unlessGone(Deno.open(`${folder}/${LOCK}`, { write: true }));
    // Without a lock it is new, or the last of a removal: it is empty.
    if (lock === undefined) await Deno.remove(folder);
    else if (await lock.tryLock(true)) await remove(folder);
  } catch {
    // Its owner or another start has removed it meanwhile. Anything else is for the next start.
  }
}

/** Removes a folder whose lock this process holds: the lock last, so that another start can go on with it. */
async function remove(folder: string): Promise<void> {
  for (const { name } of [...Deno.readDirSync(folder)]) {
    if (name !== LOCK) await Deno.remove(`${folder}/${name}`, { recursive: true });
  }
  await Deno.remove(`${folder}/${LOCK}`);
  await unlessGone(Deno.remove(folder));
}

async function unlessGone<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

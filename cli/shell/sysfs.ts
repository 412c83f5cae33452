/** Files of the kernel, most of them below `/sys`. Deno opens these only for programs with all permissions. */

/** The programs for which Deno opens files of the kernel. */
export const READERS =
  "only to programs with all permissions (-A), and to none with a permission broker";

/** The text of a file of `/sys` without white space around it. It is undefined if it cannot be read. */
export function readSysfs(path: string): string | undefined {
  return readSystem(`/sys/${path}`);
}

/** The same of any file. */
export function readSystem(path: string): string | undefined {
  return attempt(path, (file) => Deno.readTextFileSync(file).trim());
}

/** The names in a folder of `/sys`, sorted. The list is undefined if it cannot be read. */
export function listSysfs(path: string): string[] | undefined {
  return listSystem(`/sys/${path}`);
}

/** The same of any folder. */
export function listSystem(path: string): string[] | undefined {
  return attempt(path, (folder) => [...Deno.readDirSync(folder)].map(({ name }) => name).sort());
}

/** Whether files of the kernel can be read. With a permission broker Deno opens none, whatever flags and broker allow. */
export function readsSystem(): boolean {
  return listSystem("/proc/self") !== undefined;
}

function attempt<T>(file: string, read: (file: string) => T): T | undefined {
  // Without the permission the user must not be prompted for it.
  if (Deno.permissions.querySync({ name: "read", path: file }).state !== "granted") {
    return undefined;
  }
  try {
    return read(file);
  } catch {
    // Drivers refuse to read some files, and Deno or its broker may; others go when their device goes.
    return undefined;
  }
}

/** Files of the kernel below `/sys`. Deno opens them only to programs with all permissions. */

/** The text of a file without white space around it. It is undefined if it cannot be read. */
export function readSysfs(path: string): string | undefined {
  return attempt(path, (file) => Deno.readTextFileSync(file).trim());
}

/** The names in a folder, sorted. The list is undefined if it cannot be read. */
export function listSysfs(path: string): string[] | undefined {
  return attempt(path, (folder) => [...Deno.readDirSync(folder)].map(({ name }) => name).sort());
}

function attempt<T>(path: string, read: (file: string) => T): T | undefined {
  const file = `/sys/${path}`;
  // Without a permission nobody is asked for it.
  if (Deno.permissions.querySync({ name: "read", path: file }).state !== "granted") {
    return undefined;
  }
  try {
    return read(file);
  } catch {
    // Drivers refuse to read some files; others go when their device goes.
    return undefined;
  }
}

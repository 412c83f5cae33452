/** Files that a command changed only in the guest's memory. */

const SHOWN = 5;

/** Folders of files that programs leave behind. */
const TEMPORARY = ["/tmp", "/var"];

/**
 * The paths whose loss matters: in the command's folder all, elsewhere those that are not temporary.
 * Files in the folders `scratch` can be made again.
 */
export function lostFiles(
  paths: readonly string[],
  cwd: string,
  scratch: readonly string[],
): string[] {
  const isIn = (path: string, folders: readonly string[]): boolean =>
    folders.some((folder) => path.startsWith(`${folder}/`));
  return paths.filter((path) =>
    !isIn(path, scratch) && (isIn(path, [cwd]) || !isIn(path, TEMPORARY))
  ).sort();
}

/** A line that names them, from the folder in which the command ran; undefined if there are none. */
export function lostText(paths: readonly string[], cwd: string): string | undefined {
  if (paths.length === 0) return undefined;
  const names = paths.slice(0, SHOWN)
    .map((path) => path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path);
  const more = paths.length - names.length;
  const rest = more === 0 ? "" : ` and ${more} more`;
  const what = paths.length === 1 ? "a change to" : "changes to";
  return `guest: ${what} ${names.join(", ")}${rest} went with the guest; --share keeps a folder`;
}

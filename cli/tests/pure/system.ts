// Files of a system that a test makes up.

/** Text by paths below /sys, /proc and /dev. */
export type Files = Readonly<Record<string, string>>;

/** Replaces the files of /sys, /proc and /dev until it is disposed. Only those that are there can be opened. */
export function withFiles(files: Files): Disposable {
  const { readTextFileSync, readDirSync, openSync } = Deno;
  const isOurs = (path: string | URL): boolean => /^\/(sys|proc|dev)\//.test(String(path));
  Object.assign(Deno, {
    readTextFileSync: (path: string | URL) => {
      if (!isOurs(path)) return readTextFileSync(path);
      const text = files[String(path)];
      if (text === undefined) throw new Deno.errors.NotFound();
      return `${text}\n`;
    },
    readDirSync: (path: string | URL) => {
      if (!isOurs(path)) return readDirSync(path);
      const below = Object.keys(files).filter((file) => file.startsWith(`${path}/`));
      if (below.length === 0) throw new Deno.errors.NotFound();
      const names = below.map((file) => file.slice(String(path).length + 1).split("/")[0]!);
      return [...new Set(names)].map((name) => ({ name }));
    },
    openSync: (path: string | URL, options: Deno.OpenOptions) => {
      if (!isOurs(path)) return openSync(path, options);
      if (files[String(path)] !== undefined) return { [Symbol.dispose]: () => {} };
      throw Object.assign(new Deno.errors.PermissionDenied("no"), { code: "EACCES" });
    },
  });
  return {
    [Symbol.dispose]: () => Object.assign(Deno, { readTextFileSync, readDirSync, openSync }),
  };
}

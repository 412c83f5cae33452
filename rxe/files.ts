/**
 * Texts of the files of this folder that are no modules, by their paths from it. Only the package that is published has
 * them here: so they come with its modules, from Deno's cache.
 */
export const FILES: Readonly<Record<string, string>> = {};

/**
 * Texts of the files in this folder that are not modules, by their relative paths. Only the published package has them
 * here, so that they come with its modules, from Deno's cache.
 */
export const FILES: Readonly<Record<string, string>> = {};

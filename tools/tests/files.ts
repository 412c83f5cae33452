/** The files of a tier that is loaded into one process, and how many guests share them. */

import { inProject } from "../host/paths.ts";

// What a guest that runs the device tests takes of the host's memory.
const GUEST_MEGABYTES = 1500;

// Below that many files the start of another guest costs more than it saves.
const FILES_FOR_A_GUEST = 4;

/** The test files among paths from the project's folder and in folders among them, in order. */
export function testFiles(paths: readonly string[]): string[] {
  const found = paths.flatMap((path) =>
    Deno.statSync(inProject(path)).isDirectory ? filesIn(path) : [path]
  );
  return [...new Set(found)].sort();
}

function filesIn(folder: string): string[] {
  return [...Deno.readDirSync(inProject(folder))].flatMap(({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    if (isDirectory) return filesIn(path);
    return /[_.]test\.ts$/.test(name) ? [path] : [];
  });
}

/** How many guests run at once: as many as this host has processors and memory for. */
export function guestCount(
  files: number,
  processors: number = navigator.hardwareConcurrency,
  megabytes: number = Deno.systemMemoryInfo().available / 1e6,
): number {
  const most = [files / FILES_FOR_A_GUEST, processors, megabytes / GUEST_MEGABYTES, 4];
  return Math.max(1, Math.floor(Math.min(...most)));
}

/** The files of a tier, and how guests share them. */

import { inProject, sourcesIn } from "../host/paths.ts";

// What a guest that runs the device tests takes of the host's memory.
const GUEST_MEGABYTES = 1500;

// Below that many files the start of another guest costs more than it saves.
const FILES_FOR_A_GUEST = 4;

/** The test files among paths from the project's folder and in folders among them, in order. */
export function testFiles(paths: readonly string[]): string[] {
  const found = paths.flatMap((path) =>
    Deno.statSync(inProject(path)).isDirectory ? testsIn(path) : [path]
  );
  return [...new Set(found)].sort();
}

function testsIn(folder: string): string[] {
  return sourcesIn(folder).filter((file) => /[_.]test\.ts$/.test(file));
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

/** Seconds that files take in an emulated guest; the others take less than the least of them. */
const LONG_SECONDS: Readonly<Record<string, number>> = {
  "tests/device/address_handle/ah_differential_test.ts": 33,
  "tests/device/cli/perf_test.ts": 89,
  "tests/device/docs/examples_test.ts": 41,
  "tests/device/docs/snippets_test.ts": 65,
  "tests/device/examples/multicast_chat_example_test.ts": 31,
  "tests/device/examples/pingpong_test.ts": 63,
  "tests/device/examples/rc_examples_test.ts": 48,
  "tests/device/examples/devices_workers_test.ts": 50,
  "tests/device/faults/limits_test.ts": 44,
  "tests/device/faults/link_test.ts": 34,
  "tests/device/faults/loss_test.ts": 55,
  "tests/device/lifetime/lifetime_test.ts": 90,
  "tests/device/net/rc_floods_test.ts": 32,
  "tests/device/net/rc_killed_test.ts": 42,
  "tests/device/net/ud_outage_test.ts": 80,
  "tests/device/net/ud_peers_test.ts": 35,
  "tests/device/queue_pair/peer_killed_test.ts": 59,
  "tests/device/reply/reply_path_differential_test.ts": 35,
};
const SECONDS = 5;

/** Files for each of some guests that take them as long, about: the longest first, to who has least. */
export function shares(files: readonly string[], count: number): string[][] {
  const guests = Array.from({ length: count }, () => ({ files: [] as string[], seconds: 0 }));
  const secondsOf = (file: string): number => LONG_SECONDS[file] ?? SECONDS;
  for (const file of files.toSorted((a, b) => secondsOf(b) - secondsOf(a))) {
    const least = guests.reduce((a, b) => b.seconds < a.seconds ? b : a);
    least.files.push(file);
    least.seconds += secondsOf(file);
  }
  return guests.map(({ files }) => files);
}

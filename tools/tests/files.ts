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

/** Seconds that files take on this host, or in an emulated guest, with two processors; the others take one. */
const LONG_SECONDS: Readonly<Record<string, number>> = {
  "cli/tests/device/devinfo_test.ts": 5,
  "cli/tests/device/doctor_pair_test.ts": 19,
  "cli/tests/device/doctor_test.ts": 21,
  "cli/tests/device/perf_test.ts": 6,
  "cli/tests/device/pingpong_test.ts": 9,
  "cli/tests/device/udaddy_test.ts": 8,
  "cli/tests/library/printed_test.ts": 8,
  "tests/device/cm/connection_test.ts": 7,
  "tests/device/cm/peers_test.ts": 25,
  "tests/device/docs/examples_test.ts": 10,
  "tests/device/docs/snippets_test.ts": 17,
  "tests/device/efa/net_test.ts": 16,
  "tests/device/examples/ladder_test.ts": 15,
  "tests/device/faults/limits_test.ts": 14,
  "tests/device/faults/link_test.ts": 5,
  "tests/device/lifetime/lifetime_test.ts": 39,
  "tests/device/lifetime/watch_test.ts": 20,
  "tests/device/net/links_test.ts": 5,
  "tests/device/net/methods_test.ts": 6,
  "tests/device/net/ud_outage_test.ts": 16,
  "tests/device/permissions/environment_test.ts": 5,
  "tests/device/queue_pair/qp_test.ts": 9,
  "tests/device/reply/reply_path_differential_test.ts": 5,
  "tests/library/cm/failures_test.ts": 7,
  "tests/library/event_loop/hammer_test.ts": 4,
  "tests/library/event_loop/replaced_clocks_test.ts": 7,
  "tests/library/examples/own_project_test.ts": 3,
  "tests/library/faults/verbs_test.ts": 10,
  "tests/library/layout_test.ts": 3,
  "tests/library/library_test.ts": 2,
  "tests/library/memory/forgotten_test.ts": 4,
  "tests/library/misuse/misuse_test.ts": 14,
  "tests/library/misuse/unchanged_test.ts": 8,
  "tests/library/net/end_test.ts": 3,
  "tests/library/net/rc_by_address_test.ts": 3,
  "tests/library/net/rc_killed_test.ts": 3,
  "tests/library/net/unload_test.ts": 4,
  "tests/library/permission_test.ts": 3,
  "tests/library/permissions/broker_test.ts": 8,
  "tests/library/permissions/permissions_test.ts": 5,
  "tests/library/refusals_test.ts": 8,
  "tests/library/reply/reply_bound_test.ts": 4,
  "tests/library/shm/connections_test.ts": 8,
  "tests/library/shm/processes_test.ts": 2,
  "tests/library/shm/queues_test.ts": 8,
  "tests/library/testing_test.ts": 12,
  "tests/library/threads_test.ts": 9,
  "tests/library/thunks_test.ts": 4,
  "tests/library/tools/package_test.ts": 14,
  "tests/library/where_it_runs_test.ts": 3,
  "tests/library/worker_descriptors_test.ts": 5,
};
const SECONDS = 1;

function secondsOf(file: string): number {
  return LONG_SECONDS[file] ?? SECONDS;
}

/** Shares of files that take as long, about: the longest file first, to the share that has least. */
export function shares(files: readonly string[], count: number): string[][] {
  const all = Array.from({ length: count }, () => ({ files: [] as string[], seconds: 0 }));
  for (const file of files.toSorted((a, b) => secondsOf(b) - secondsOf(a))) {
    const least = all.reduce((a, b) => b.seconds < a.seconds ? b : a);
    least.files.push(file);
    least.seconds += secondsOf(file);
  }
  return all.map(({ files }) => files);
}

/** Shares of files that take so many seconds each, about. */
export function sharesOf(files: readonly string[], seconds: number): string[][] {
  const sum = files.reduce((sum, file) => sum + secondsOf(file), 0);
  return shares(files, Math.max(1, Math.min(files.length, Math.round(sum / seconds))));
}

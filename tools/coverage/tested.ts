/** Which tests call a verb with success: recorded while the tests run (`tests/trace.ts`), and kept in `tests/coverage.json`. */

import { project } from "../host/paths.ts";

/** Where verbs are tested: on rxe, on the stub HCA, on the recorder, or without a device. */
export const PLACES = ["rxe", "stub", "recorder", "library"] as const;
/** One of {@linkcode PLACES}. */
export type Place = typeof PLACES[number];

/** For each verb and place the test file that shows it best: the one that calls the fewest other verbs. */
export type Tested = Record<string, Partial<Record<Place, string>>>;

/** What one test file called with success. */
export interface Trace {
  readonly file: string;
  readonly calls: Readonly<Record<string, readonly Place[]>>;
}

const KEPT = `${project}/tests/coverage.json`;
/** Where running tests leave their traces. */
export const TRACES = `${project}/out/verbs`;

/** What is kept from the last time the tests were traced. Files that are gone do not count. */
export async function readTested(): Promise<Tested> {
  const kept: Tested = JSON.parse(await Deno.readTextFile(KEPT));
  return Object.fromEntries(
    Object.entries(kept).map(([verb, places]) => [
      verb,
      Object.fromEntries(Object.entries(places).filter(([, file]) => exists(`${project}/${file}`))),
    ]),
  );
}

/** Keeps what the tests have just left. */
export async function keepTraces(): Promise<void> {
  const traces: Trace[] = [];
  for await (const { name } of Deno.readDir(TRACES)) {
    traces.push(JSON.parse(await Deno.readTextFile(`${TRACES}/${name}`)));
  }
  // Where several files show the same, the one with the fewest verbs is read first.
  traces.sort((a, b) => size(a) - size(b) || (a.file < b.file ? -1 : 1));
  const tested: Tested = {};
  for (const { file, calls } of traces) {
    for (const [verb, places] of Object.entries(calls)) {
      for (const place of places) (tested[verb] ??= {})[place] ??= file;
    }
  }
  const sorted = Object.entries(tested).sort(([a], [b]) => a < b ? -1 : 1)
    .map(([verb, places]) => [verb, inOrder(places)]);
  await Deno.writeTextFile(KEPT, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`);
}

function inOrder(places: Partial<Record<Place, string>>): Partial<Record<Place, string>> {
  return Object.fromEntries(
    PLACES.filter((place) => place in places).map((place) => [place, places[place]]),
  );
}

function size({ calls }: Trace): number {
  return Object.keys(calls).length;
}

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}

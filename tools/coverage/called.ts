/** Which verbs the tests of a run call: the tests note them, and a run of all tests is judged by them. */

import { exists, say } from "../host/setup.ts";
import { inProject, out } from "../host/paths.ts";
import { DEVICE, KNOWN, publicVerbs, RECORDER } from "./coverage.ts";

const FOLDER = `${out}/verbs`;

/** The verbs that were called with success, by tests of the library or of devices. */
export interface Called {
  readonly library: ReadonlySet<string>;
  readonly device: ReadonlySet<string>;
}

/** Forgets what the tests of an earlier run called. */
export async function forgetCalled(): Promise<void> {
  if (exists(FOLDER)) await Deno.remove(FOLDER, { recursive: true });
  await Deno.mkdir(FOLDER, { recursive: true });
}

/** What has `deno test` note the verbs in a file of that name. */
export function tracing(name: string): { args: string[]; env: Record<string, string> } {
  return {
    args: [`--preload=${inProject("tools/coverage/trace.ts")}`],
    env: { IBVERBS_TRACE: `${FOLDER}/${name}.txt` },
  };
}

/** Says what the tests have called since it was forgotten, and how many things are wrong with that. */
export async function judgeCalled(): Promise<number> {
  const verbs = await publicVerbs();
  const called = await readCalled();
  const faults = faultsOfCalls(verbs, called);
  for (const fault of faults) say(`error: ${fault}`);
  const count = (set: ReadonlySet<string>): number => verbs.filter((verb) => set.has(verb)).length;
  const all = count(new Set([...called.library, ...called.device]));
  say(`verbs: tests called ${all} of ${verbs.length}, ${count(called.device)} on devices`);
  return faults.length;
}

async function readCalled(): Promise<Called> {
  const names = [...Deno.readDirSync(FOLDER)].map(({ name }) => name);
  const read = async (tier: string): Promise<Set<string>> => {
    const files = names.filter((name) => name.startsWith(tier));
    const texts = await Promise.all(files.map((name) => Deno.readTextFile(`${FOLDER}/${name}`)));
    return new Set(texts.flatMap((text) => text.split("\n")));
  };
  return { library: await read("library"), device: await read("device") };
}

/** What is wrong with a run, in words: verbs that no test called, or none on a device without a reason. */
export function faultsOfCalls(
  verbs: readonly string[],
  { library, device }: Called,
  testedOn = (verb: string): string => KNOWN.get(verb)?.testedOn ?? DEVICE,
): string[] {
  const list = (title: string, found: string[]): string[] =>
    found.length === 0 ? [] : [`${title}: ${found.join(", ")}`];
  const isCalled = (verb: string): boolean => library.has(verb) || device.has(verb);
  return [
    ...list("no test called", verbs.filter((verb) => !isCalled(verb))),
    ...list(
      "no test called on a device",
      verbs.filter((verb) => isCalled(verb) && !device.has(verb) && testedOn(verb) === DEVICE),
    ),
    ...list(
      "called on a device, and docs/verbs.md says otherwise",
      verbs.filter((verb) => device.has(verb) && testedOn(verb) === RECORDER),
    ),
  ];
}

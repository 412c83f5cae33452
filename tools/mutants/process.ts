/** A process that runs the tests of one file with mutants. */

import { lines } from "../../rxe/guest/streams.ts";
import { stdArguments } from "../host/jsr.ts";
import { pathWithEmulator } from "../tests/emulator.ts";
import { type Job, MARK, type Told } from "./runner.ts";
import { ACTIVE } from "./switch.ts";
import type { Tree } from "./tree.ts";

export interface Ended {
  /** Whether it did not end by itself in time. */
  readonly hung: boolean;
  readonly status: number;
  readonly told: readonly Told[];
  /** The end of what else it wrote. */
  readonly output: string;
  /** How long it took. */
  readonly seconds: number;
}

/**
 * Runs a process to its end.
 *
 * @param limit Seconds until it says something.
 * @param active The mutant that is active from the start.
 */
export async function runJob(
  tree: Tree,
  job: Job,
  limit: number,
  active?: string,
): Promise<Ended> {
  const path = Deno.makeTempFileSync({ prefix: "ibverbs-mutants-", suffix: ".json" });
  Deno.writeTextFileSync(path, JSON.stringify(job));
  const started = performance.now();
  const args = ["run", "--quiet", "--allow-all", "--no-check", "--v8-flags=--expose-gc"];
  args.push(...await stdArguments(), `${tree.path}/tools/mutants/runner.ts`, path);
  // A group of processes of its own, so that what the tests start ends with it.
  const process = new Deno.Command("setsid", {
    args: [Deno.execPath(), ...args],
    cwd: tree.path,
    env: {
      NO_COLOR: "1",
      IBVERBS_CACHE: tree.cache,
      PATH: await pathWithEmulator(),
      ...active !== undefined && { [ACTIVE]: active },
    },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let hung = false;
  const kill = (): void => {
    hung = true;
    end(process.pid);
  };
  let timer = setTimeout(kill, 1000 * limit);
  const told: Told[] = [];
  let output = "";
  const read = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    for await (const line of lines(stream)) {
      if (!line.startsWith(MARK)) {
        output = (output + line + "\n").slice(-2000);
        continue;
      }
      const one: Told = JSON.parse(line.slice(MARK.length));
      told.push(one);
      clearTimeout(timer);
      timer = setTimeout(kill, 1000 * ("limit" in one ? one.limit : limit));
    }
  };
  const reading = Promise.all([read(process.stdout), read(process.stderr)]);
  const { code } = await process.status;
  end(process.pid);
  await reading;
  clearTimeout(timer);
  Deno.removeSync(path);
  return { hung, status: code, told, output, seconds: (performance.now() - started) / 1000 };
}

/** Ends a process and all that it started. */
function end(pid: number): void {
  new Deno.Command("kill", { args: ["-KILL", "--", `-${pid}`], stderr: "null" }).outputSync();
}

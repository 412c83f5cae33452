/** Machines that only play what a test has written down, in the place of QEMU. */

import { type GuestOptions, runInGuest, runOnTwoHosts } from "../../guest/run.ts";
import { Progress } from "../../guest/progress.ts";
import type { Sink } from "../../guest/streams.ts";
import { members } from "./archive.ts";
import { programs } from "./programs.ts";
import { Timers } from "./timers.ts";

/** What a machine does next. */
export interface Step {
  /**
   * The stream that gets the text; `go` waits for the host's word, `echo` puts out all that is put in,
   * `exit` ends with a complaint, and `kill` ends by SIGKILL.
   */
  readonly to: "console" | "ctl" | "out" | "err" | "go" | "echo" | "exit" | "kill";
  readonly text: string;
}

/** A step. */
export function step(to: Step["to"], text = ""): Step {
  return { to, text };
}

/** A machine that comes up, waits for its command, and then takes these steps. */
export function comesUp(...steps: readonly Step[]): Step[] {
  return [step("ctl", "stage loading\nready\n"), step("go"), ...steps];
}

/** The control stream's report of a command that wrote so many bytes, with some lines of log. */
export function ends(status: number, out: number, err: number, ...log: readonly string[]): Step {
  return step("ctl", [`exit ${status} ${out} ${err}`, ...log, "end", ""].join("\n"));
}

/** A sink that keeps the text. */
class Kept implements Sink {
  text = "";

  write(bytes: Uint8Array): Promise<number> {
    this.text += new TextDecoder().decode(bytes);
    return Promise.resolve(bytes.length);
  }
}

/** What a run has left. */
export interface Played {
  /** The exit statuses, or the error. */
  readonly result: number[] | Error;
  readonly stdout: string;
  readonly stderr: string;
  /** What this process said meanwhile. */
  readonly said: string;
  /** The arguments of each start, by `HOST-START`. */
  readonly args: Readonly<Record<string, string[]>>;
  /** The files of the initial RAM disk of each start, by `HOST-START`. */
  readonly initrd: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** What the user sees that a run does, if it takes long. */
  readonly stages: readonly string[];
  /** The folders of runs that are still there, and the timers. */
  readonly left: readonly (string | number)[];
}

/** For each host, the steps of each of its starts. */
export type Plan = Readonly<Record<string, readonly (readonly Step[])[]>>;

/** What differs from a usual run. */
export interface Unusual {
  /** Runs the machines. */
  readonly run?: (options: GuestOptions) => Promise<number[]>;
  /** Variables of the environment. */
  readonly variables?: Readonly<Record<string, string>>;
  /** The milliseconds after which a timer of so many ends. */
  readonly after?: (ms: number) => number;
  /** The milliseconds after which the user sees what goes on; never if it is left out. */
  readonly quiet?: number;
}

/** Runs a command on one host, or on two if the plan has two. */
export async function play(
  plan: Plan,
  options: GuestOptions = {},
  { run = usual(plan), variables = {}, after = (ms) => ms, quiet }: Unusual = {},
): Promise<Played> {
  const folder = await Deno.makeTempDir();
  const program = new URL("fake_qemu.ts", import.meta.url).pathname;
  const script = `exec '${Deno.execPath()}' run -A --no-check --quiet '${program}' "$@"\n`;
  await Deno.mkdir(`${folder}/tmp`);
  await Deno.writeTextFile(`${folder}/plan.json`, JSON.stringify(plan));
  const all = { ...variables, FAKE_QEMU: folder, TMPDIR: `${folder}/tmp` };
  await using ran = await programs({ "qemu-system-x86_64": script }, all);
  const [stdout, stderr] = [new Kept(), new Kept()];
  using timers = new Timers((ms) => ms === 2000 ? quiet : after(ms));
  using stages = listen();
  const given = { stdout, stderr, accelerator: "tcg", ...options } as const;
  const result = await run(given).catch((error: Error) => error);
  const read = <T>(prefix: string, value: (bytes: Uint8Array) => T): Record<string, T> =>
    Object.fromEntries(
      [...Deno.readDirSync(folder)].filter(({ name }) => name.startsWith(prefix)).map((
        { name },
      ) => [name.slice(prefix.length), value(Deno.readFileSync(`${folder}/${name}`))]),
    );
  const played = {
    result,
    stdout: stdout.text,
    stderr: stderr.text,
    said: ran.said(),
    args: read("args-", (bytes) => JSON.parse(new TextDecoder().decode(bytes))),
    initrd: read("initrd-", (bytes) =>
      Object.fromEntries(
        Object.entries(members(bytes)).map(([name, { text }]) => [name, text]),
      )),
    stages: stages.stages,
    left: [...[...Deno.readDirSync(`${folder}/tmp`)].map(({ name }) => name), ...timers.open],
  };
  await Deno.remove(folder, { recursive: true });
  return played;
}

function usual(plan: Plan): (options: GuestOptions) => Promise<number[]> {
  return async (options) =>
    "2" in plan
      ? await runOnTwoHosts([["one"], ["two", "it's"]], options)
      : [await runInGuest(["cat", "a file"], options)];
}

/** Keeps the stages of runs until it is disposed of. */
function listen(): Disposable & { readonly stages: string[] } {
  const { enter, finish } = Progress.prototype;
  const stages: string[] = [];
  Progress.prototype.enter = function (stage): void {
    stages.push(stage);
    enter.call(this, stage);
  };
  Progress.prototype.finish = function (what): void {
    stages.push(what);
    finish.call(this, what);
  };
  return { stages, [Symbol.dispose]: () => Object.assign(Progress.prototype, { enter, finish }) };
}

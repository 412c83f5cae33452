/** Machines that only play what a test has written down, in the place of QEMU. */

import { type GuestOptions, runInGuest, runOnTwoHosts } from "../../../rxe/guest/run.ts";
import type { Sink } from "../../../rxe/guest/streams.ts";

/** What a machine does next. */
export interface Step {
  /**
   * The stream that gets the text; `go` waits for the host's word, `exit` ends with a complaint, and
   * `kill` ends by SIGKILL.
   */
  readonly to: "console" | "ctl" | "out" | "err" | "go" | "exit" | "kill";
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
export class Kept implements Sink {
  /** What was written. */
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
  /** The initial RAM disk of each start, by `HOST-START`; one character a byte. */
  readonly initrd: Readonly<Record<string, string>>;
  /** The folders of runs that are still there. */
  readonly left: readonly string[];
}

/** For each host, the steps of each of its starts. */
export type Plan = Readonly<Record<string, readonly (readonly Step[])[]>>;

/** Runs a command on one host, or on two if the plan has two. */
export async function play(plan: Plan, options: GuestOptions = {}): Promise<Played> {
  const folder = await Deno.makeTempDir();
  const bin = `${folder}/bin`;
  await Deno.mkdir(bin);
  await Deno.mkdir(`${folder}/tmp`);
  const program = new URL("fake_qemu.ts", import.meta.url).pathname;
  const script =
    `#!/bin/sh\nexec '${Deno.execPath()}' run -A --no-check --quiet '${program}' "$@"\n`;
  await Deno.writeTextFile(`${bin}/qemu-system-x86_64`, script, { mode: 0o755 });
  await Deno.writeTextFile(`${folder}/plan.json`, JSON.stringify(plan));
  const variables = {
    PATH: `${bin}:${Deno.env.get("PATH")}`,
    FAKE_QEMU: folder,
    TMPDIR: `${folder}/tmp`,
  };
  const stdout = new Kept();
  const stderr = new Kept();
  using said = listen();
  using _set = environment(variables);
  const all = { stdout, stderr, accelerator: "tcg", ...options } as const;
  try {
    const result = await ("2" in plan
      ? runOnTwoHosts([["one"], ["two", "it's"]], all)
      : runInGuest(["cat", "a file"], all).then((status) => [status]))
      .catch((error: Error) =>
        error
      );
    const read = (prefix: string): [string, string][] =>
      [...Deno.readDirSync(folder)].filter(({ name }) => name.startsWith(prefix)).map((
        { name },
      ) => [name.slice(prefix.length), latin1(Deno.readFileSync(`${folder}/${name}`))]);
    return {
      result,
      stdout: stdout.text,
      stderr: stderr.text,
      said: said.text(),
      args: Object.fromEntries(
        read("args-").map(([name, text]) => [name, JSON.parse(text)]),
      ),
      initrd: Object.fromEntries(read("initrd-")),
      left: [...Deno.readDirSync(`${folder}/tmp`)].map(({ name }) => name),
    };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function latin1(bytes: Uint8Array): string {
  return new TextDecoder("latin1").decode(bytes);
}

/** Sets variables of the environment until it is disposed. */
export function environment(variables: Readonly<Record<string, string>>): Disposable {
  const before = Object.keys(variables).map((name) => [name, Deno.env.get(name)] as const);
  for (const [name, value] of Object.entries(variables)) Deno.env.set(name, value);
  return {
    [Symbol.dispose]: () => {
      for (const [name, value] of before) {
        if (value === undefined) Deno.env.delete(name);
        else Deno.env.set(name, value);
      }
    },
  };
}

/** Keeps what this process writes to standard error, until it is disposed. */
export function listen(): Disposable & { text(): string } {
  const { writeSync, write } = Deno.stderr;
  let text = "";
  const keep = (bytes: Uint8Array): number => {
    text += new TextDecoder().decode(bytes);
    return bytes.length;
  };
  Deno.stderr.writeSync = keep;
  Deno.stderr.write = (bytes) => Promise.resolve(keep(bytes));
  return {
    text: () => text,
    [Symbol.dispose]: () => Object.assign(Deno.stderr, { writeSync, write }),
  };
}

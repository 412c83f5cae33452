/** A running virtual machine. */

import { SetupError } from "../host/report.ts";
import { lastLines, start } from "../host/shell.ts";
import { inTemporary } from "../host/temporary.ts";
import { STREAMS } from "./qemu.ts";
import { Copy, lines, type Sink, type Source, Tail, writeAll } from "./streams.ts";

/**
 * The error of a guest that ended by itself, or took too long.
 *
 * @category Errors
 */
export class GuestError extends SetupError {
  /** The error's name. */
  override name = "GuestError";
}

/**
 * Where the output of the guest's command goes.
 *
 * @category Options
 */
export interface Output {
  /** Takes the command's standard output. */
  stdout: Sink;
  /** Takes the command's standard error. */
  stderr: Sink;
}

type Five<T> = [T, T, T, T, T];

/** A machine; disposing it ends it. */
export class Guest implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  readonly #broken: Promise<never>;
  readonly #control: Deno.Conn;
  readonly #lines: AsyncGenerator<string, void>;
  readonly #out: Copy;
  readonly #err: Copy;
  readonly #console: Tail;
  readonly #input: Deno.Conn;
  readonly #unreadable: PromiseWithResolvers<never> = Promise.withResolvers();

  private constructor(
    process: Deno.ChildProcess,
    ended: Promise<never>,
    streams: Deno.Conn[],
    { stdout, stderr }: Output,
    verbose: boolean,
  ) {
    const [console, control, out, err, input] = streams as Five<Deno.Conn>;
    this.#process = process;
    this.#console = new Tail(console.readable, 16384, verbose ? Deno.stderr : undefined);
    this.#control = control;
    this.#lines = lines(control.readable);
    this.#out = new Copy(out.readable, stdout);
    this.#err = new Copy(err.readable, stderr);
    this.#input = input;
    const { promise: unreadable } = this.#unreadable;
    this.#broken = Promise.race([ended, this.#out.broken, this.#err.broken, unreadable]);
    this.#broken.catch(() => {});
  }

  /** Starts QEMU, which connects to the sockets in `folder` that are named after the streams. */
  static async start(
    args: string[],
    folder: string,
    output: Output,
    verbose: boolean,
  ): Promise<Guest> {
    using stack = new DisposableStack();
    const listeners = await inTemporary(() =>
      STREAMS.map((name) =>
        stack.use(Deno.listen({ transport: "unix", path: `${folder}/${name}` }))
      )
    );
    // Without pdeathsig a machine would outlive this process when that is killed; without setsid
    // the terminal's Ctrl-C would reach QEMU too, and look like a crash.
    const command = ["--pdeathsig", "KILL", "setsid", "qemu-system-x86_64", ...args];
    const process = start("setpriv", {
      args: command,
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    });
    const ended = rejectAtEnd(process);
    const streams = await Promise.race([
      ended,
      Promise.all(listeners.map((listener) => listener.accept())),
    ]);
    return new Guest(process, ended, streams, output, verbose);
  }

  /** The next line of the control stream, awaited for at most `seconds`. */
  async line(seconds: number, what: string): Promise<string> {
    const late = Promise.withResolvers<never>();
    const timer = seconds < Infinity
      ? setTimeout(
        () => late.reject(new GuestError(`the guest's ${what} took longer than ${seconds} s`)),
        seconds * 1000,
      )
      : undefined;
    try {
      const next = await Promise.race([this.#lines.next(), this.#broken, late.promise]);
      return next.done ? await this.#broken : next.value;
    } catch (error) {
      throw error instanceof GuestError ? await this.#withConsole(error) : error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Lets the command start, with what a source gives as its standard input. */
  async start(stdin?: Source): Promise<void> {
    await this.#control.write(new TextEncoder().encode("go\n"));
    if (stdin) this.#feed(stdin);
  }

  async #feed(source: Source): Promise<void> {
    const bytes = new Uint8Array(0x10000);
    try {
      for (let count: number | null = 0; count !== null; count = await read(source, bytes)) {
        await writeAll(this.#input, bytes.subarray(0, count));
      }
      // QEMU loses what it has not read yet of a socket that is closed as a whole.
      await this.#input.closeWrite();
    } catch (error) {
      // Otherwise the machine has ended, which is reported elsewhere.
      if (error instanceof GuestError) this.#unreadable.reject(error);
    }
  }

  /** Waits until this many bytes of the command's two streams have been passed on. */
  async drained(out: number, err: number): Promise<void> {
    await Promise.race([
      Promise.all([this.#out.reached(out), this.#err.reached(err)]),
      this.#broken,
    ]);
  }

  /** The last lines of the kernel's console, up to a panic. */
  consoleTail(): string {
    const log = this.#console.text;
    const panic = log.match(/Kernel panic - .*/);
    const shown = panic ? log.slice(0, panic.index! + panic[0].length) : log;
    return shown ? `; the console's last lines:\n${lastLines(shown, 20)}` : "";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#process.kill("SIGKILL");
    } catch {
      // It has ended already.
    }
    await this.#process.status;
    this.#input.close();
    // The streams end with the process. The generator closes its stream when its return() is called.
    await Promise.allSettled([this.#lines.return(), this.#console.ended, this.#broken]);
  }

  async #withConsole(error: GuestError): Promise<GuestError> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, 200);
    await Promise.race([this.#console.ended, promise]);
    clearTimeout(timer);
    return new GuestError(error.message + this.consoleTail());
  }
}

async function read(source: Source, bytes: Uint8Array): Promise<number | null> {
  try {
    return await source.read(bytes);
  } catch (error) {
    throw new GuestError(`Cannot read the command's input: ${(error as Error).message}`);
  }
}

/** QEMU runs until it is ended from here; if it ends by itself, that is a failure. */
async function rejectAtEnd(process: Deno.ChildProcess): Promise<never> {
  const complaint = await new Response(process.stderr).text();
  const { code, signal } = await process.status;
  const how = signal ? `was ended by ${signal}` : `ended with status ${code}`;
  throw new GuestError(`the guest ${how}${complaint ? `: ${lastLines(complaint, 4)}` : ""}`);
}

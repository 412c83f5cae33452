/** What the examples have in common: how they read a command line, and how they end. */

import { parseArgs, type ParseArgsConfig } from "node:util";
import type { UdOptions } from "@rdma/ibverbs/net";

/** The command line is wrong. */
export class UsageError extends Error {}

type Parsed<C extends ParseArgsConfig> = ReturnType<typeof parseArgs<C>>;

/**
 * Makes the main function of an example, with options as `parseArgs()` takes them. Its result is the status of the process:
 * after an error, 2 if the command line is wrong and 1 otherwise.
 */
export function program<const C extends ParseArgsConfig>(
  name: string,
  help: string,
  config: C,
  run: (parsed: Parsed<C>) => Promise<void>,
): (args: readonly string[]) => Promise<number> {
  return async (args) => {
    try {
      if (args.includes("--help") || args.includes("-h")) console.log(help);
      else await run(read(config, args));
      return 0;
    } catch (error) {
      // Another host may have sent a part of it: that must not control the terminal.
      console.error(`${name}: ${(error as Error).message.replaceAll(/(?!\n)\p{Cc}/gu, "?")}`);
      return error instanceof UsageError ? 2 : 1;
    }
  };
}

function read<C extends ParseArgsConfig>(config: C, args: readonly string[]): Parsed<C> {
  try {
    return parseArgs({ ...config, args: [...args] }) as Parsed<C>;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** Reads a whole number, decimal or with 0x. */
export function whole(text: string, option: string, min: number, max: number): number {
  const value = /^(\d+|0x[0-9a-f]+)$/i.test(text) ? Number(text) : NaN;
  if (value >= min && value <= max) return value;
  throw new UsageError(`--${option} takes a whole number from ${min} to ${max}, not "${text}"`);
}

/** Options that choose a port of a device. */
export const PORT = {
  device: { type: "string", short: "d" },
  port: { type: "string", short: "i", default: "1" },
  "gid-index": { type: "string", short: "g" },
} as const;

/** The help for `PORT`. */
export const PORT_HELP = `
  -d, --device NAME       RDMA device (default: the first one with an active port)
  -i, --port NUMBER       port of the device (default 1)
  -g, --gid-index NUMBER  index of the GID to send from in the port's table (default: the one that
                          reaches most peers)`.slice(1);

/** Which port to use. */
export type Port = Pick<UdOptions, "device" | "gidIndex"> & { readonly portNum: number };

/** Reads the options of `PORT`. */
export function portOf(values: { device?: string; port: string; "gid-index"?: string }): Port {
  const { device, port, "gid-index": gid } = values;
  const gidIndex = gid === undefined ? undefined : whole(gid, "gid-index", 0, 255);
  return { device, portNum: whole(port, "port", 1, 255), gidIndex };
}

/** A signal, until it is disposed. */
export type Ending = { readonly signal: AbortSignal } & Disposable;

/** Aborts at Ctrl-C (SIGINT), or when the system ends the program (SIGTERM). */
export function untilInterrupted(): Ending {
  const controller = new AbortController();
  const abort = (): void => controller.abort(new Error("Interrupted"));
  const names = ["SIGINT", "SIGTERM"] as const;
  for (const name of names) Deno.addSignalListener(name, abort);
  const stop = (): void => names.forEach((name) => Deno.removeSignalListener(name, abort));
  return { signal: controller.signal, [Symbol.dispose]: stop };
}

/** Aborts after a time, or when another signal does. */
export function inTime(seconds: number, other: AbortSignal): Ending {
  const controller = new AbortController();
  const late = new Error(`The other end did not answer within ${seconds} s`);
  const timer = setTimeout(() => controller.abort(late), seconds * 1000);
  const stop = (): void => clearTimeout(timer);
  return { signal: AbortSignal.any([other, controller.signal]), [Symbol.dispose]: stop };
}

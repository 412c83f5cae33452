/** The command line of ud_pingpong: that of ibv_ud_pingpong, and some more. */

import { parseArgs } from "@std/cli/parse-args";
import { UsageError, wholeNumber } from "../support/command_line.ts";

/** What `--help` prints. */
export const HELP =
  `Sends a datagram to and fro and tells how long that takes; ibv_ud_pingpong may be at the other end.

  deno run --allow-ffi --allow-net examples/ud_pingpong.ts [OPTIONS]
      starts a server and waits for a client
  deno run --allow-ffi --allow-net examples/ud_pingpong.ts [OPTIONS] HOST
      connects to the server on HOST

Options of ibv_ud_pingpong, of which both ends need the same -s and -n:
  -p, --port=PORT        TCP port to listen on or connect to, 18515
  -d, --ib-dev=DEVICE    RDMA device; the first one unless given
  -i, --ib-port=PORT     port of the device, 1
  -s, --size=BYTES       size of the message, 1024; at most the port's MTU
  -r, --rx-depth=NUMBER  receives to post at a time, 500
  -n, --iters=NUMBER     messages to send, and to receive, 1000
  -l, --sl=SL            service level, 0
  -e, --events           sleep until a completion comes, instead of polling
  -g, --gid-idx=INDEX    index of the GID to send from; needed on RoCE
  -c, --chk              the client marks the message, the server looks for the mark

Further options:
      --reply-from-wc    server: answer to the address that came with the first datagram, and
                         not to the one that the client told
      --timeout=SECONDS  how long the other end may stay silent, 10
      --warm-up=NUMBER   messages to send to oneself beforehand, so that V8 has compiled the code
                         before the clock starts, 20000
  -h, --help             show this text
`;

/** What the command line says. */
export interface Options {
  readonly host: string | undefined;
  readonly port: number;
  readonly device: string | undefined;
  readonly ibPort: number;
  readonly size: number;
  readonly rxDepth: number;
  readonly iters: number;
  readonly sl: number;
  readonly events: boolean;
  readonly gidIndex: number | undefined;
  readonly check: boolean;
  readonly replyFromWc: boolean;
  readonly timeout: number;
  readonly warmUp: number;
}

/**
 * Reads the command line; undefined if it asks for help.
 *
 * @throws {UsageError} If it is wrong.
 */
export function parseOptions(args: readonly string[]): Options | undefined {
  const flags = parseArgs(args, {
    boolean: ["chk", "events", "help", "reply-from-wc"],
    string: [
      "_",
      ...["port", "ib-dev", "ib-port", "size", "rx-depth", "iters", "sl", "gid-idx"] as const,
      ...["timeout", "warm-up"] as const,
    ],
    alias: {
      p: "port",
      d: "ib-dev",
      i: "ib-port",
      s: "size",
      r: "rx-depth",
      n: "iters",
      l: "sl",
      e: "events",
      g: "gid-idx",
      c: "chk",
      h: "help",
    },
    unknown: (argument) => {
      if (!argument.startsWith("-")) return true;
      throw new UsageError(`"${argument}" is not an option`);
    },
  });
  if (flags.help) return undefined;
  const [host, ...rest] = flags._.map(String);
  if (rest.length > 0) throw new UsageError("There is one host at most");
  if (flags["reply-from-wc"] && host !== undefined) {
    throw new UsageError("--reply-from-wc is for the server: the client sends first");
  }
  const number = (
    name: "port" | "ib-port" | "size" | "rx-depth" | "iters" | "sl" | "timeout" | "warm-up",
    otherwise: number,
    min: number,
    max?: number,
  ): number => {
    const text = flags[name];
    return text === undefined ? otherwise : wholeNumber(`--${name}`, text, min, max);
  };
  const gid = flags["gid-idx"];
  return {
    host,
    port: number("port", 18515, 1, 65535),
    device: flags["ib-dev"],
    ibPort: number("ib-port", 1, 1, 255),
    size: number("size", 1024, 1),
    rxDepth: number("rx-depth", 500, 1),
    iters: number("iters", 1000, 1),
    sl: number("sl", 0, 0, 15),
    events: flags.events,
    gidIndex: gid === undefined ? undefined : wholeNumber("--gid-idx", gid, 0, 255),
    check: flags.chk,
    replyFromWc: flags["reply-from-wc"],
    timeout: number("timeout", 10, 1),
    warmUp: number("warm-up", 20_000, 0),
  };
}

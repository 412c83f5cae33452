/** The options of the ping-pongs and of the measurement: those of the C tools, and some more. */

import { Mtu } from "@rdma/ibverbs";
import { flag, number, type Option, text, UsageError } from "../shell/command.ts";

/** The most queue pairs of ibv_srq_pingpong. */
export const MAX_QUEUE_PAIRS = 256;

/** The longest time-out in seconds: a timer counts milliseconds in 31 bits. */
export const MAX_SECONDS = 2_147_483;

const MOST = 0x7fff_ffff;
const WARM_UP =
  "messages to send to itself first, so that V8 compiles the code before the measurement";
const FROM_WC =
  "server: reply to the address in the first datagram, not to the one from the client";

/** The option of a path MTU. */
export function mtuOption(text: string): Option<number> {
  const read = (text: string): number | undefined =>
    Object.hasOwn(Mtu, Number(text)) ? Number(text) : undefined;
  return { takes: "256, 512, 1024, 2048 or 4096", read, value: "BYTES", text, short: "m" };
}

/** Options with a number, each with its default. */
const NUMBERS = {
  "port": [18515, number("PORT", "TCP port to listen on or connect to", [1, 65535], "p")],
  "ib-port": [1, number("PORT", "port of the device", [1, 255], "i")],
  "size": [4096, number("BYTES", "size of a message", [1, MOST], "s")],
  "mtu": [1024, mtuOption("path MTU")],
  "num-qp": [16, number("NUMBER", "queue pairs", [1, MAX_QUEUE_PAIRS], "q")],
  "rx-depth": [500, number("NUMBER", "receives to post at a time", [1, MOST], "r")],
  "iters": [1000, number("NUMBER", "messages to send, and to receive", [1, MOST], "n")],
  "sl": [0, number("SL", "service level", [0, 15], "l")],
  "timeout": [10, number("SECONDS", "how long the peer may be silent", [1, MAX_SECONDS])],
  "warm-up": [20_000, number("NUMBER", WARM_UP, [0, MOST])],
} as const;

const FLAGS = {
  "events": flag("sleep until a completion comes, instead of polling", "e"),
  "chk": flag("check the contents of the buffer", "c"),
  "reply-from-wc": flag(FROM_WC),
} as const;

/** The option of a partition. */
export const PKEY_INDEX: Option<number> = number(
  "INDEX",
  "index of the P_Key, which the peer must have too (default 0)",
  [0, 65535],
);

const COMMON = {
  "ib-dev": text("DEVICE", "RDMA device; the first one by default", "d"),
  "gid-idx": number(
    "INDEX",
    "index of the GID to send from; on RoCE the one that gids marks by default",
    [0, 255],
    "g",
  ),
  "pkey-index": PKEY_INDEX,
} as const;

/** Names of options with a number. */
export type NumberName = keyof typeof NUMBERS;
export type FlagName = keyof typeof FLAGS;

/** `rx-depth` -> `rxDepth`. */
type Camel<S extends string> = S extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : S;

/** A command line. Options that a ping-pong does not have keep their defaults. */
export type Options =
  & { readonly [N in NumberName as Camel<N>]: number }
  & { readonly [N in FlagName as Camel<N>]: boolean }
  & {
    /** The server to connect to. It is undefined for a server. */
    readonly host: string | undefined;
    /** The device. It is undefined for the first one. */
    readonly ibDev: string | undefined;
    /** The GID to send from. */
    readonly gidIdx: number | undefined;
    /** The P_Key; that of index 0 if it is left out. */
    readonly pkeyIndex?: number;
    /** Sends that may be in progress at once; 1 if it is left out. */
    readonly txDepth?: number;
  };

/** The options of a command in addition to those that all have. */
export interface Choice {
  readonly numbers: readonly NumberName[];
  readonly flags?: readonly FlagName[];
  /** Defaults that differ from those in the table. */
  readonly defaults?: Readonly<Partial<Record<NumberName, number>>>;
}

/** The options of a command. */
export function optionsFor({ numbers, flags = [], defaults = {} }: Choice): Readonly<
  Record<string, Option<string> | Option<number> | Option<boolean>>
> {
  const chosen = numbers.map((name): [string, Option<number>] => {
    const [byDefault, option] = NUMBERS[name];
    return [name, { ...option, text: `${option.text} (default ${defaults[name] ?? byDefault})` }];
  });
  return {
    ...COMMON,
    ...Object.fromEntries(chosen),
    ...Object.fromEntries(flags.map((name) => [name, FLAGS[name]])),
  };
}

/** The command line of values and operands. */
export function readOptions(
  { defaults = {} }: Choice,
  values: Readonly<Record<string, unknown>>,
  operands: readonly string[],
): Options {
  if (operands.length > 1) throw new UsageError("there is one host at most");
  const numbers = Object.entries(NUMBERS).map(([name, [byDefault]]) => [name, byDefault] as const);
  const flags = Object.keys(FLAGS).map((name) => [name, false] as const);
  const all = { ...Object.fromEntries([...numbers, ...flags]), ...defaults, ...values };
  const named = Object.entries(all).map(([name, value]) => [camelCase(name), value]);
  return { ...Object.fromEntries(named), host: operands[0] };
}

function camelCase(name: string): string {
  return name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

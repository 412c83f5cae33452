/**
 * The options of the ping-pongs: those of the C tools, and some more.
 *
 * @module
 */

import { flag, number, type Option, text, UsageError } from "../command.ts";

interface NumberRow {
  readonly short?: string;
  readonly value: string;
  readonly text: string;
  readonly min: number;
  readonly max?: number;
  readonly fallback: number;
}

interface FlagRow {
  readonly short?: string;
  readonly text: string;
}

/** The most queue pairs of ibv_srq_pingpong. */
export const MAX_QUEUE_PAIRS = 256;

/** The longest time-out in seconds: a timer counts milliseconds in 31 bits. */
export const MAX_SECONDS = 2_147_483;

const MOST = 0x7fff_ffff;

const NUMBERS = {
  "port": {
    short: "p",
    value: "PORT",
    text: "TCP port to listen on or connect to",
    min: 1,
    max: 65535,
    fallback: 18515,
  },
  "ib-port": {
    short: "i",
    value: "PORT",
    text: "port of the device",
    min: 1,
    max: 255,
    fallback: 1,
  },
  "size": { short: "s", value: "BYTES", text: "size of a message", min: 1, fallback: 4096 },
  "mtu": { short: "m", value: "BYTES", text: "path MTU", min: 256, max: 4096, fallback: 1024 },
  "num-qp": {
    short: "q",
    value: "NUMBER",
    text: "queue pairs",
    min: 1,
    max: MAX_QUEUE_PAIRS,
    fallback: 16,
  },
  "rx-depth": {
    short: "r",
    value: "NUMBER",
    text: "receives to post at a time",
    min: 1,
    fallback: 500,
  },
  "iters": {
    short: "n",
    value: "NUMBER",
    text: "messages to send, and to receive",
    min: 1,
    fallback: 1000,
  },
  "sl": { short: "l", value: "SL", text: "service level", min: 0, max: 15, fallback: 0 },
  "timeout": {
    value: "SECONDS",
    text: "how long the peer may be silent",
    min: 1,
    max: MAX_SECONDS,
    fallback: 10,
  },
  "warm-up": {
    value: "NUMBER",
    text: "messages to send to itself first, so that V8 compiles the code before the measurement",
    min: 0,
    fallback: 20_000,
  },
} as const satisfies Readonly<Record<string, NumberRow>>;

const FLAGS = {
  "events": { short: "e", text: "sleep until a completion comes, instead of polling" },
  "chk": { short: "c", text: "check the contents of the buffer" },
  "reply-from-wc": {
    text: "server: reply to the address in the first datagram, not to the one from the client",
  },
} as const satisfies Readonly<Record<string, FlagRow>>;

/** Names of options with a number. */
export type NumberName = keyof typeof NUMBERS;
/** Names of flags. */
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
    /** Sends that may be under way at once; 1 if it is left out. */
    readonly txDepth?: number;
  };

/** What a command line has besides the options that all have. */
export interface Choice {
  /** Options with a number. */
  readonly numbers?: readonly NumberName[];
  /** Flags. */
  readonly flags?: readonly FlagName[];
  /** Defaults that differ from those in the table. */
  readonly defaults?: Readonly<Partial<Record<NumberName, number>>>;
}

/** The options of a command. */
export function optionsFor({ numbers = [], flags = [], defaults = {} }: Choice): Readonly<
  Record<string, Option<string | number | boolean | undefined>>
> {
  const numberOption = (name: NumberName): Option<number | undefined> => {
    const row: NumberRow = NUMBERS[name];
    const fallback = defaults[name] ?? row.fallback;
    return number({ max: MOST, ...row, text: `${row.text} (default ${fallback})` });
  };
  const flagOption = (name: FlagName): Option<boolean> => {
    const { text, short }: FlagRow = FLAGS[name];
    return flag(text, short);
  };
  return {
    "ib-dev": text("DEVICE", "RDMA device; the first one by default", "d"),
    "gid-idx": number({
      short: "g",
      value: "INDEX",
      text: "index of the GID to send from (RoCE)",
      min: 0,
      max: 255,
    }),
    ...Object.fromEntries(numbers.map((name) => [name, numberOption(name)])),
    ...Object.fromEntries(flags.map((name) => [name, flagOption(name)])),
  };
}

/**
 * The command line of values and operands.
 *
 * @throws {UsageError} If there is more than one host.
 */
export function readOptions(
  { defaults = {} }: Choice,
  values: Readonly<Record<string, unknown>>,
  operands: readonly string[],
): Options {
  if (operands.length > 1) throw new UsageError("there is one host at most");
  const entries = [
    ...Object.entries(NUMBERS).map(([name, { fallback }]) =>
      [name, values[name] ?? defaults[name as NumberName] ?? fallback] as const
    ),
    ...Object.keys(FLAGS).map((name) => [name, values[name] ?? false] as const),
    ...["ib-dev", "gid-idx"].map((name) => [name, values[name]] as const),
    ["host", operands[0]] as const,
  ];
  const named = entries.map(([name, value]) => [camelCase(name), value]);
  return Object.fromEntries(named) as unknown as Options;
}

function camelCase(name: string): string {
  return name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

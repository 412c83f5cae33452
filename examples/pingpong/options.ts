/** The command lines of the ping-pong examples: the options of the C tools, and some more. */

import { parseArgs } from "@std/cli/parse-args";
import { MAX_SECONDS, UsageError, wholeNumber } from "../support/command_line.ts";

interface NumberOption {
  readonly short?: string;
  readonly value: string;
  readonly text: string;
  readonly min: number;
  readonly max?: number;
  readonly fallback: number;
}

interface FlagOption {
  readonly short?: string;
  readonly text: string;
}

/** An option as the help shows it. A flag has no value. */
interface Shown extends FlagOption {
  readonly value?: string;
  readonly fallback?: number;
}

/** The most queue pairs of ibv_srq_pingpong. */
export const MAX_QUEUE_PAIRS = 256;

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
} as const satisfies Readonly<Record<string, NumberOption>>;

const FLAGS = {
  "events": { short: "e", text: "sleep until a completion comes, instead of polling" },
  "chk": { short: "c", text: "check the contents of the buffer" },
  "reply-from-wc": {
    text: "server: reply to the address in the first datagram, not to the one from the client",
  },
} as const satisfies Readonly<Record<string, FlagOption>>;

type NumberName = keyof typeof NUMBERS;
type FlagName = keyof typeof FLAGS;

/** `rx-depth` -> `rxDepth`. */
type Camel<S extends string> = S extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : S;

/** A command line. Options that a tool does not have keep their defaults. */
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
  };

/** The options of one tool. */
export interface Tool {
  /** Its name. */
  readonly name: string;
  /** What it does, for the help. */
  readonly summary: string;
  /** Its number options, besides those that all tools have. */
  readonly numbers?: readonly NumberName[];
  /** Its flags, besides those that all tools have. */
  readonly flags?: readonly FlagName[];
  /** Defaults that differ from those in the table. */
  readonly defaults?: Readonly<Partial<Record<NumberName, number>>>;
  /** The number of frames in the exchange of addresses, if it is not the number of queue pairs. */
  readonly frames?: number;
  /** Refuses options that do not fit together. */
  readonly check?: (options: Options) => void;
}

const COMMON_NUMBERS = [
  "port",
  "ib-port",
  "size",
  "rx-depth",
  "iters",
  "sl",
  "timeout",
  "warm-up",
] as const;
const COMMON_FLAGS = ["events", "chk"] as const;

function entriesOf({ numbers = [], flags = [] }: Tool): (readonly [string, Shown])[] {
  const names = [...COMMON_NUMBERS, ...numbers];
  return [
    ["ib-dev", { short: "d", value: "DEVICE", text: "RDMA device; the first one by default" }],
    ["gid-idx", { short: "g", value: "INDEX", text: "index of the GID to send from (RoCE)" }],
    ...names.map((name) => [name, NUMBERS[name]] as const),
    ...[...COMMON_FLAGS, ...flags].map((name) => [name, FLAGS[name]] as const),
    ["help", { short: "h", text: "show this text" }],
  ];
}

/** The text for `--help`. */
export function helpOf(tool: Tool): string {
  const command = `deno run --allow-ffi --allow-net examples/${tool.name}.ts [OPTIONS]`;
  const lines = entriesOf(tool).map(([name, option]) => {
    const { short, value, fallback } = option;
    const long = value === undefined ? `--${name}` : `--${name}=${value}`;
    const left = `${short === undefined ? "   " : `-${short},`} ${long}`;
    const number = tool.defaults?.[name as NumberName] ?? fallback;
    const right = number === undefined ? option.text : `${option.text} (default ${number})`;
    return `  ${left.padEnd(23)}  ${right}`;
  });
  return `${tool.summary} The peer may be ibv_${tool.name}.

  ${command}
      starts a server and waits for a client
  ${command} HOST
      connects to the server on HOST

${lines.join("\n")}

Both ends need the same --size and --iters.
`;
}

/**
 * Reads the command line of a tool. It is undefined if the user asks for help.
 *
 * @throws {UsageError} If it is wrong.
 */
export function parseOptions(tool: Tool, args: readonly string[]): Options | undefined {
  const entries = entriesOf(tool);
  const given: Readonly<Record<string, unknown>> = parseArgs(args as string[], {
    boolean: entries.filter(([_, option]) => !("value" in option)).map(([name]) => name),
    string: ["_", ...entries.filter(([_, option]) => "value" in option).map(([name]) => name)],
    alias: Object.fromEntries(
      entries.flatMap(([name, { short }]) => short === undefined ? [] : [[short, name]]),
    ),
    unknown: (argument) => {
      if (!argument.startsWith("-")) return true;
      throw new UsageError(`"${argument}" is not an option`);
    },
  });
  if (given.help) return undefined;
  const [host, ...rest] = (given._ as unknown[]).map(String);
  if (rest.length > 0) throw new UsageError("There is one host at most");
  const gid = given["gid-idx"] as string | undefined;
  const options: Options = {
    host,
    ibDev: given["ib-dev"] as string | undefined,
    gidIdx: gid === undefined ? undefined : wholeNumber("--gid-idx", gid, 0, 255),
    ...Object.fromEntries(
      Object.keys(FLAGS).map((name) => [camelCase(name), given[name] ?? false]),
    ) as { readonly [N in FlagName as Camel<N>]: boolean },
    ...Object.fromEntries(
      Object.keys(NUMBERS).map((name) => [camelCase(name), numberOf(tool, given, name)]),
    ) as { readonly [N in NumberName as Camel<N>]: number },
  };
  tool.check?.(options);
  return options;
}

function numberOf(tool: Tool, given: Readonly<Record<string, unknown>>, name: string): number {
  const { min, max, fallback }: NumberOption = NUMBERS[name as NumberName];
  const text = given[name] as string | undefined;
  if (text !== undefined) return wholeNumber(`--${name}`, text, min, max);
  return tool.defaults?.[name as NumberName] ?? fallback;
}

function camelCase(name: string): string {
  return name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** What a client chooses, and the server learns. */

import { choice, CommandError, number, type Option, UsageError } from "../shell/command.ts";
import { mtuOption } from "../peer/options.ts";
import { numberOf } from "../peer/channel.ts";

/** The most messages of a measurement. */
export const MOST = 10_000_000;

/** The longest message, and the longest one of `--all`, as in perftest. */
const MOST_BYTES = 1 << 24;
const LAST_OF_ALL = 1 << 23;

const MOST_QUEUE_PAIRS = 256;

const KINDS = ["rc", "uc", "ud"] as const;
const VERBS = ["send", "write", "read"] as const;

/** The kinds of queue pairs that have a verb. */
const KINDS_OF = { send: KINDS, write: ["rc", "uc"], read: ["rc"] } as const;

const DEFAULTS = {
  ...{ verb: "send", kind: "rc", size: 64, iters: 5000, messages: 10_000 },
  ...{ duration: 0, qp: 1, mtu: 1024 },
} as const;

/** The numbers that it may choose. A duration of 0 stands for none. */
const RANGES = {
  size: [1, MOST_BYTES],
  iters: [10, MOST],
  messages: [10, MOST],
  duration: [0, 86_400],
  qp: [1, MOST_QUEUE_PAIRS],
  mtu: [256, 4096],
} as const;

/** The settings that both ends share. */
export interface Settings extends Readonly<Record<keyof typeof RANGES, number>> {
  readonly verb: typeof VERBS[number];
  readonly kind: typeof KINDS[number];
}

function ofClient(name: keyof typeof DEFAULTS, text: string): string {
  return `client: ${text} (default ${DEFAULTS[name]})`;
}

function counted(
  name: "size" | "iters" | "messages" | "qp",
  text: string,
  short?: string,
): Option<number> {
  const value = name === "size" ? "BYTES" : "NUMBER";
  return number(value, ofClient(name, text), RANGES[name], short);
}

/** The options of a client; their letters are those of perftest. */
export const CLIENT_OPTIONS = {
  verb: choice(VERBS, ofClient("verb", "what moves a message")),
  kind: choice(KINDS, ofClient("kind", "kind of queue pair"), "c"),
  size: counted("size", "size of a message", "s"),
  iters: counted("iters", "messages back and forth", "n"),
  messages: counted("messages", "messages one way"),
  duration: number(
    "SECONDS",
    "client: measure for this time, instead of a number of messages",
    [1, RANGES.duration[1]],
    "D",
  ),
  qp: counted("qp", "queue pairs that send one way", "q"),
  mtu: mtuOption(ofClient("mtu", "path MTU of a connection")),
} as const;

/** What a client chose, by its command line or its message. */
export function settingsOf(chosen: Readonly<Record<string, unknown>>): Settings {
  const kind = KINDS.find((kind) => kind === chosen.kind);
  if (kind === undefined) throw new CommandError("the peer asks for an unknown kind");
  const verb = VERBS.find((verb) => verb === chosen.verb);
  if (verb === undefined) throw new CommandError("the peer asks for an unknown verb");
  const kinds: readonly string[] = KINDS_OF[verb];
  if (!kinds.includes(kind)) {
    throw new CommandError(`RDMA ${verb} needs queue pairs of kind ${kinds.join(" or ")}`);
  }
  const read = (name: keyof typeof RANGES): number => numberOf(chosen, name, RANGES[name]);
  return {
    ...{ verb, kind, size: read("size"), iters: read("iters"), messages: read("messages") },
    ...{ duration: read("duration"), qp: read("qp"), mtu: read("mtu") },
  };
}

/** The settings of a command line. */
export function chosenSettings(values: Readonly<Record<string, unknown>>): Settings {
  return settingsOf({ ...DEFAULTS, ...values });
}

/** The sizes of `--all` up to a port's MTU for datagrams: powers of two. */
export function allSizes({ kind }: Settings, mtu: number): number[] {
  const last = kind === "ud" ? mtu : LAST_OF_ALL;
  return Array.from({ length: Math.log2(last) }, (_, i) => 2 << i);
}

/** Refuses what only a client chooses. */
export function refuseForServer(values: Readonly<Record<string, unknown>>): void {
  const given = Object.keys(CLIENT_OPTIONS).find((name) => name in values) ??
    (values.all === true ? "all" : undefined);
  if (given !== undefined) {
    throw new UsageError(`--${given} is for the client, and this is a server: there is no HOST`);
  }
}

// Two ends of an exchange on the device of native speed: in this process, in another one of Deno, and in one in C.

import { environment, environmentOfC } from "../../provider/shm.ts";
import {
  AccessFlags,
  nameOf,
  QpState,
  QpType,
  SendFlags,
  WcFlags,
  WcOpcode,
  WcStatus,
  WrOpcode,
} from "../../../mod.ts";
import { compileC } from "../../c/compile.ts";
import { withDeadline } from "../../until.ts";
import { Interpreter } from "./commands.ts";

const { LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC } = AccessFlags;
/** All that peers may do, and the device itself. */
export const ALL = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC;
export const QKEY = 0x1111_1111;
export const GRH = 40;
/** How an end gets to know that it has no shared receive queue. */
const NONE = "-";

/** Part of a region: its number, the offset and the length. */
export type Place = readonly [mr: number, offset: number, length: number];

/** A completion as C and this library tell it alike. What a failed one does not tell is left out. */
export interface Completion {
  readonly wrId: number;
  readonly status: string;
  readonly opcode?: string;
  readonly byteLen?: number;
  readonly qpNum: number;
  readonly srcQp?: number;
  readonly imm?: number;
  readonly hasGrh?: boolean;
}

function completionOf(text: string): Completion {
  const [wrId, status, opcode, byteLen, qpNum, srcQp, imm, flags] = text.split(" ").map(Number) as [
    ...[number, number, number, number, number, number, number, number],
  ];
  const common = { wrId, status: nameOf(WcStatus, status), qpNum };
  if (status !== WcStatus.SUCCESS) return common;
  const isReceive = opcode === WcOpcode.RECV || opcode === WcOpcode.RECV_RDMA_WITH_IMM;
  return {
    ...{ ...common, opcode: nameOf(WcOpcode, opcode) },
    ...isReceive && { byteLen, srcQp, hasGrh: (flags & WcFlags.GRH) !== 0 },
    ...(flags & WcFlags.WITH_IMM) !== 0 && { imm },
  };
}

/** What a send does, where it does not send to the peer of a connection. */
export interface Send {
  readonly wrId?: number;
  readonly opcode?: keyof typeof WrOpcode;
  /** SIGNALED if left out. */
  readonly flags?: number;
  readonly imm?: number;
  /** Of a datagram its address handle, number and qkey; of others the address, the key, and the values of atomics. */
  readonly to?: readonly (number | bigint)[];
  readonly sge?: readonly Place[];
}

/** How a queue pair is made. */
export interface QpOptions {
  readonly type?: keyof typeof QpType;
  readonly srq?: number;
  readonly wr?: number;
  readonly sqSigAll?: boolean;
}

/** A queue pair of an end: its number there, that of its completion queue, and that on the network. */
export interface Link {
  readonly qp: number;
  readonly cq: number;
  readonly qpn: number;
}

type Words = readonly (string | number | bigint)[];

/** An end. Objects are made and known by their numbers. */
export abstract class End {
  protected abstract answer(line: string): Promise<string>;

  async do(...words: Words): Promise<string> {
    return await this.answer(words.join(" "));
  }

  async number(...words: Words): Promise<number> {
    const answer = await this.do(...words);
    if (answer === "" || Number.isNaN(Number(answer))) throw new Error(`${words[0]}: ${answer}`);
    return Number(answer);
  }

  /** Makes a region. */
  async mr(length: number, access: number): Promise<{ addr: bigint; rkey: number }> {
    const [addr, rkey] = (await this.do("mr", length, access)).split(" ");
    return { addr: BigInt(addr!), rkey: Number(rkey) };
  }

  /** Makes a completion queue. */
  cq(cqe = 256, hasChannel = false): Promise<number> {
    return this.number("cq", cqe, Number(hasChannel));
  }

  /** Makes a queue pair. */
  async qp(cq: number, options: QpOptions = {}): Promise<Link> {
    const { type = "RC", srq = NONE, wr = 64, sqSigAll = false } = options;
    const answer = await this.do("qp", QpType[type], cq, srq, wr, Number(sqSigAll));
    const [qp, qpn] = answer.split(" ").map(Number) as [number, number];
    return { qp, cq, qpn };
  }

  recv(qp: number, wrId: number, ...sge: Place[]): Promise<string> {
    return this.do("recv", qp, wrId, ...sge.flat());
  }

  send(qp: number, options: Send = {}): Promise<string> {
    const { wrId = 0, opcode = "SEND", flags = SendFlags.SIGNALED, imm = 0 } = options;
    const { to = [], sge = [] } = options;
    const target = Array.from({ length: 4 }, (_, i) => to[i] ?? 0);
    return this.do("send", qp, wrId, WrOpcode[opcode], flags, imm, ...target, ...sge.flat());
  }

  /** The completions that are there. */
  async poll(cq: number, most = 4096): Promise<Completion[]> {
    const text = await this.do("poll", cq, most);
    return text === "" ? [] : text.split(",").map(completionOf);
  }

  /** Waits for as many completions, or other results, as are wanted. */
  async wait(cq: number, count = 1): Promise<Completion[]> {
    const all: Completion[] = [];
    await eventually(`${count} completions`, async () => {
      all.push(...await this.poll(cq));
      return all.length >= count;
    });
    return all;
  }

  /** Waits for an asynchronous event, and returns its type and the number of its object. */
  async asyncEvent(): Promise<string> {
    let found = "";
    await eventually("an event", async () => (found = await this.do("async")) !== "-1");
    return found;
  }

  async state(qp: number): Promise<string> {
    return nameOf(QpState, await this.number("state", qp));
  }
}

/** Comes back once the condition holds; throws if it never does. */
export async function eventually(what: string, condition: () => Promise<boolean>): Promise<void> {
  await withDeadline(
    new Error(`Cannot go on: there is no end of waiting for ${what}`),
    async (signal) => {
      while (!await condition()) {
        signal.throwIfAborted();
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    },
  );
}

class HereEnd extends End {
  readonly #interpreter = new Interpreter();

  protected override answer(line: string): Promise<string> {
    return this.#interpreter.run(line);
  }

  close(): void {
    this.#interpreter[Symbol.dispose]();
  }
}

/** An end in a process of its own. */
export class ProcessEnd extends End implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #output: ReadableStreamDefaultReader<string>;
  #rest = "";

  constructor(command: readonly string[], env: Readonly<Record<string, string>>) {
    super();
    const [program, ...args] = command;
    const options = { args, env, stdin: "piped", stdout: "piped" } as const;
    this.#child = new Deno.Command(program!, options).spawn();
    this.#input = this.#child.stdin.getWriter();
    this.#output = this.#child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  }

  protected override async answer(line: string): Promise<string> {
    await this.tell(line);
    const late = new Error(`Cannot go on: there is no answer to "${line}"`);
    return await withDeadline(late, async (signal) => {
      // A process that hangs gives no other answer either.
      const kill = () => this.#child.kill("SIGKILL");
      signal.addEventListener("abort", kill);
      try {
        return await this.#line();
      } finally {
        signal.removeEventListener("abort", kill);
      }
    });
  }

  /** Says a line to which there is no answer. */
  async tell(line: string): Promise<void> {
    await this.#input.write(new TextEncoder().encode(`${line}\n`));
  }

  async #line(): Promise<string> {
    while (!this.#rest.includes("\n")) {
      const { value, done } = await this.#output.read();
      if (done) throw new Error("Cannot go on: the other process has ended");
      this.#rest += value;
    }
    const end = this.#rest.indexOf("\n");
    const line = this.#rest.slice(0, end);
    this.#rest = this.#rest.slice(end + 1);
    return line;
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#input.close().catch(() => {});
    await this.#output.cancel();
    await this.#child.status;
  }
}

const FLAGS = ["-D_GNU_SOURCE", "-libverbs", "-lpthread"];

/** Starts an end in C. */
export async function startC(env: Readonly<Record<string, string>> = {}): Promise<ProcessEnd> {
  return new ProcessEnd([await compileC("end.c", FLAGS)], { ...environmentOfC, ...env });
}

function startDeno(): ProcessEnd {
  const program = new URL("peer.ts", import.meta.url).pathname;
  return new ProcessEnd(
    [Deno.execPath(), "run", "-A", "--no-check", "--no-config", program],
    environment,
  );
}

// Not within a test, which would have to end them.
const ends = {
  here: [new HereEnd(), new HereEnd()],
  c: [await startC(), await startC()],
  deno: [startDeno()],
} as const;
addEventListener("unload", () => ends.here.forEach((end) => end.close()));

/** Who talks to whom. */
const PAIRS: Readonly<Record<string, readonly [End, End]>> = {
  "one process": ends.here,
  "two processes in C": ends.c,
  "this process and C": [ends.here[0], ends.c[0]],
  "C and this process": [ends.c[0], ends.here[0]],
  "this process and another one": [ends.here[0], ends.deno[0]],
  "another process and this one": [ends.deno[0], ends.here[0]],
};

/** Pairs that are enough where nothing passes between two processes. */
export const ALONE = ["one process", "two processes in C"];

/** Defines a test for each pair of ends. Each has a region of 4 MiB, number 0, for everything. */
export function test(
  name: string,
  body: (a: End, b: End) => Promise<void>,
  pairs: readonly string[] = Object.keys(PAIRS),
): void {
  for (const pair of pairs) {
    const both = PAIRS[pair]!;
    Deno.test(`${name}: ${pair}`, async () => {
      for (const end of both) await open(end);
      await body(...both);
      // They say goodbye to each other's groups and queues.
      for (const end of both) await end.do("open");
    });
  }
}

/** Has an end forget what it has, and gives it a region. */
export async function open(end: End): Promise<void> {
  await end.do("open");
  await end.mr(4 << 20, ALL);
}

/** How a connection is made. */
export interface Connection extends QpOptions {
  readonly access?: number;
  /** For the second end, if that differs. */
  readonly peerAccess?: number;
  readonly minRnrTimer?: number;
  readonly timeout?: number;
  readonly retryCnt?: number;
  readonly rnrRetry?: number;
  readonly cqe?: number;
  readonly hasChannel?: boolean;
  /** The number of a completion queue that is there already, at both ends. */
  readonly cq?: number;
  /** The number of the port, at both ends. */
  readonly port?: number;
}

/** Makes a queue pair for a connection, in state INIT. */
export async function half(end: End, options: Connection = {}): Promise<Link> {
  const { cqe, hasChannel, access = ALL, port = 1 } = options;
  const link = await end.qp(options.cq ?? await end.cq(cqe, hasChannel), options);
  await end.do("init", link.qp, port, access);
  return link;
}

/** Connects a queue pair with another one by an address of its end. */
export async function connectTo(
  end: End,
  { qp }: Link,
  dgid: string,
  qpn: number,
  options: Connection = {},
): Promise<void> {
  const { minRnrTimer = 1, timeout = 8, retryCnt = 1, rnrRetry = 7, port = 1 } = options;
  await end.do("rtr", qp, port, 1, dgid, qpn, minRnrTimer);
  await end.do("rts", qp, timeout, retryCnt, rnrRetry);
}

/** Connects two queue pairs, by IPv4 addresses. */
export async function connect(a: End, b: End, options: Connection = {}): Promise<[Link, Link]> {
  const { access = ALL, peerAccess = access, port = 1 } = options;
  const one = await half(a, options);
  const other = await half(b, { ...options, access: peerAccess });
  await connectTo(a, one, await b.do("gid", port, 1), other.qpn, options);
  await connectTo(b, other, await a.do("gid", port, 1), one.qpn, options);
  return [one, other];
}

/** Makes a queue pair for datagrams that is ready to send. */
export async function datagrams(
  end: End,
  options: QpOptions & { readonly port?: number; readonly qkey?: number; readonly cqe?: number } =
    {},
): Promise<Link> {
  const link = await end.qp(await end.cq(options.cqe), { ...options, type: "UD" });
  await end.do("init", link.qp, options.port ?? 1, options.qkey ?? QKEY);
  await end.do("rtr", link.qp);
  await end.do("rts", link.qp);
  return link;
}

// Programs whose tests put other timers and clocks in place, as FakeTime of @std/testing does: the library goes on.

import { assertEquals } from "@std/assert";
import { outputOf } from "../../subprocess.ts";

/** A loop that waits for a replaced timer waits without end, and one that polls until a replaced clock moves never ends. */
const LIMIT = ["timeout", "--signal=KILL", "60"];

/** Timers that never fire. */
const TIMERS = `
  for (const name of ["Timeout", "Interval", "Immediate"]) {
    globalThis["set" + name] = globalThis["clear" + name] = () => 0;
  }
  globalThis.queueMicrotask = () => {};
  AbortSignal.timeout = () => new AbortController().signal;
  Deno.refTimer = Deno.unrefTimer = () => { throw new Error("it is no timer of Deno"); };`;

/** Clocks that stand still. */
const CLOCKS = `
  globalThis.Date = class extends Date {};
  Date.now = performance.now = () => 0;`;

const REPLACED = { timers: TIMERS, clocks: CLOCKS, "timers and clocks": TIMERS + CLOCKS };

const url = (path: string): string => JSON.stringify(import.meta.resolve(`../../../${path}`));

/** A device that moves data. */
const HEAD = `
  import * as recorder from ${url("tests/provider/recorder.ts")};
  import { CompletionChannel, CompletionQueue, Context } from MOD;
  import { connectRc, listenUd } from ${url("net/mod.ts")};
  recorder.reset();
  recorder.connect();
  const { setTimeout: later } = globalThis;
  const pause = () => new Promise((resolve) => later(resolve, 10));`;

/** What a program does under such clocks. Each would not end before the limit. */
const CASES: Readonly<Record<string, string>> = {
  "datagrams are sent one after the other": `
    await using conn = await listenUd({ device: "recorder0", qkey: 1 });
    REPLACE
    for (let i = 0; i < 20_000; i++) await conn.send(new Uint8Array(4), conn.addr);`,
  "a wait for a datagram sleeps": `
    await using conn = await listenUd({ device: "recorder0", qkey: 1 });
    REPLACE
    const abort = new AbortController();
    const received = conn.receive({ signal: abort.signal }).catch(({ message }) => message);
    await pause();
    abort.abort(new Error("enough"));
    if (await received !== "enough") throw new Error("it ended otherwise");`,
  "an iteration over completions polls before it sleeps": `
    using context = Context.open("recorder0");
    const cq = new CompletionQueue(context, { cqe: 4, channel: new CompletionChannel(context) });
    REPLACE
    const abort = new AbortController();
    const next = cq.completions({ signal: abort.signal, spinMicroseconds: 1000 }).next().catch(({ message }) => message);
    await pause();
    abort.abort(new Error("enough"));
    if (await next !== "enough") throw new Error("it ended otherwise");`,
  "waits on the thread end after their time": `
    using context = Context.open("recorder0");
    const cq = new CompletionQueue(context, { cqe: 4, channel: new CompletionChannel(context) });
    REPLACE
    const options = { timeout: 20, spinMicroseconds: 1000 };
    if (cq.waitSync(options) || cq.channel.getCqEventSync({ timeout: 20 })) throw new Error("nothing has come");`,
  "nobody answers": `
    REPLACE
    const exchange = () => new Promise(() => {});
    const error = await connectRc({ device: "recorder0", exchange, connectTimeout: 50 }).catch((error) => error);
    if (!(error instanceof Deno.errors.TimedOut)) throw error;`,
  "nobody listens": `
    REPLACE
    const options = { hostname: "127.0.0.1", tcpPort: 1, retryInterval: 20, connectTimeout: 100 };
    const error = await connectRc({ device: "recorder0", ...options }).catch((error) => error);
    // A busy host may take all of the time for one attempt.
    const { ConnectionRefused, TimedOut } = Deno.errors;
    if (!(error instanceof ConnectionRefused || error instanceof TimedOut)) throw error;`,
};

const cases = Object.entries(REPLACED).flatMap(([what, replace]) =>
  Object.entries(CASES).map(([name, text]) => ({
    what,
    name,
    text: text.replace("REPLACE", replace),
  }))
);

for (const { what, name, text } of cases) {
  Deno.test(`With replaced ${what} ${name}`, async () => {
    const script = `${HEAD}
      await (async () => {${text}
      })();
      console.log("ended");`;
    assertEquals(await outputOf(script, { prefix: LIMIT, importMap: true }), "ended");
  });
}

/** Asynchronous calls that are aborted: each one rejects with the signal's reason or gives its result. */

import {
  AddressHandle,
  type AhAttrInit,
  CompletionChannel,
  CompletionQueue,
  initAhFromWcAsync,
  ProtectionDomain,
  ReplyPath,
} from "../../../mod.ts";
import { listenUd, type UdConn } from "../../../net/mod.ts";
import type { SlowLink } from "../../../tests/device/slow_link.ts";
import { isMessage, WORDS, writeMessage } from "./ledger.ts";
import { arrival, attrOf, inTime, paced, pause, PORT, QKEY, type Run } from "./run.ts";

/** What the calls use. */
interface Parts {
  readonly run: Run;
  readonly attr: AhAttrInit;
  readonly path: ReplyPath;
  readonly channel: CompletionChannel;
  readonly cq: CompletionQueue;
  readonly slow: SlowLink;
  readonly slowPd: ProtectionDomain;
  readonly server: UdConn;
  readonly client: UdConn;
}

/** A call, and when it is aborted: before it, at once after it (0), or after so many milliseconds. */
type Call = readonly [
  name: string,
  abortAfter: number | "before",
  call: (parts: Parts, signal: AbortSignal) => Promise<unknown>,
];

const create: Call[2] = ({ run, attr }, signal) =>
  AddressHandle.createAsync(run.pd, attr, { signal });
const RECEIVE = "UdConn.receive()";

const CALLS: readonly Call[] = [
  ["AddressHandle.createAsync()", 0, create],
  ["AddressHandle.createAsync()", "before", create],
  ["AddressHandle.createAsync()", 1, create],
  [
    "AddressHandle.createAsync() for an absent peer",
    20,
    ({ slow, slowPd }, signal) => AddressHandle.createAsync(slowPd, slow.peer, { signal }),
  ],
  [
    "AddressHandle.fromWcAsync()",
    0,
    ({ run }, signal) => AddressHandle.fromWcAsync(run.pd, PORT, ...arrival(run, 0), { signal }),
  ],
  [
    "initAhFromWcAsync()",
    0,
    ({ run }, signal) => initAhFromWcAsync(run.context, PORT, ...arrival(run, 0), { signal }),
  ],
  ["ReplyPath.toAsync()", 0, ({ run, path }, signal) => {
    path.invalidate();
    return path.toAsync(...arrival(run, 0), { signal });
  }],
  ["CompletionQueue.completions()", 5, ({ cq }, signal) => cq.completions({ signal }).next()],
  ["CompletionChannel.getCqEvent()", 5, ({ channel }, signal) => channel.getCqEvent({ signal })],
  [RECEIVE, 5, ({ server }, signal) => server.receive(undefined, { signal })],
];

export async function abortCalls(run: Run, rate: number, slow: SlowLink): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const { gidIndex } = run.gids[0]!;
  const channel = stack.use(new CompletionChannel(run.context));
  const options = { device: run.context.device.name, gidIndex, qkey: QKEY };
  const parts: Parts = {
    run,
    attr: attrOf(run, 0),
    path: stack.use(new ReplyPath(run.pd, { port: PORT })),
    channel,
    cq: stack.use(new CompletionQueue(run.context, { cqe: 8, channel })),
    slow,
    slowPd: stack.use(new ProtectionDomain(slow.context)),
    server: stack.use(await listenUd(options)),
    client: stack.use(await listenUd(options)),
  };
  while (run.arrivals.length === 0 && !run.stop.aborted) await pause(20);
  let calls = 0;
  await paced(rate, 1, run.stop, () => abort(parts, CALLS[calls++ % CALLS.length]!));
}

async function abort(parts: Parts, [name, abortAfter, call]: Call): Promise<void> {
  const { run } = parts;
  const reason = new Error("Cannot go on: the call is aborted");
  const controller = new AbortController();
  if (abortAfter === "before") controller.abort(reason);
  const settled = call(parts, controller.signal).then(
    (result) => {
      run.count("callsNotAborted");
      // The path's handles belong to the path.
      if (result instanceof AddressHandle && !name.startsWith("ReplyPath")) result.close();
    },
    (error) => {
      if (error === reason) return run.count("abortedCalls");
      run.fail(`${name}, aborted after ${abortAfter} ms: ${error}`);
    },
  );
  if (abortAfter !== "before" && abortAfter > 0) await pause(abortAfter);
  controller.abort(reason);
  if (!await inTime(settled)) run.fail(`${name}, aborted after ${abortAfter} ms, does not end`);
  if (name === RECEIVE) await exchangeOne(parts);
}

/** A message that comes after an aborted receive goes to the next receive. */
async function exchangeOne({ run, server, client }: Parts): Promise<void> {
  const words = new Uint32Array(WORDS);
  const number = run.ledger.send();
  writeMessage(words, 0, number);
  await client.send(new Uint8Array(words.buffer), server.addr);
  const isReceived = server.receive().then(([bytes]) => {
    const received = new Uint32Array(bytes.slice().buffer);
    run.ledger.deliver(received[0]!, received.length === WORDS && isMessage(received, 0));
  });
  if (!await inTime(isReceived)) run.ledger.giveUp(number);
}

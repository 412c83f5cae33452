import { assertEquals, assertRejects } from "@std/assert";
import { stub } from "@std/testing/mock";
import { AddressHandle, type CompletionQueue } from "../../../../mod.ts";
import { QKEY, selfAddress, udPair, until } from "../../setup.ts";

/** The functions of the snippet. */
export interface Snippet {
  serve(cq: CompletionQueue, signal: AbortSignal): Promise<void>;
}

/** Prints the completions of two sends. */
export default async function call({ serve }: Snippet): Promise<void> {
  using pair = udPair();
  const { left, right } = pair;
  using ah = new AddressHandle(pair.pd, selfAddress(pair.context));
  using log = stub(console, "log");
  const stop = new AbortController();
  const serving = serve(left.cq, stop.signal);
  const to = { sge: left.mr.slice(0, 8), ah, remoteQpn: right.qp.qpNum, remoteQkey: QKEY };
  left.qp.postSend([{ ...to, wrId: 7 }, { ...to, wrId: 8 }]);
  await until("both completions are printed", () => log.calls.length === 2);
  assertEquals(log.calls.map(({ args }) => args), [[7n], [8n]]);
  stop.abort(new Error("enough"));
  await assertRejects(() => serving, Error, "enough");
}

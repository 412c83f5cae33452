/** Messages by verbs. */

import { type CompletionsOptions, Context } from "../../mod.ts";
import { type Echo, exchanging } from "./echo.ts";
import { End } from "./end.ts";

interface Opened extends Pick<Echo, "address" | "connect"> {
  readonly end: End;
  readonly post: (count: number) => void;
}

/** An end with receives posted when it is connected, and how it posts sends. */
function open(type: "UD" | "RC", isPolling: boolean): Opened {
  const end = new End(Context.open(), type, isPolling);
  const { qp, recvs, sends, sendCq } = end;
  const connect = (remote: string): void => {
    end.connect(Number(remote));
    for (let i = 0; i < 2; i++) qp.postRecv(recvs);
  };
  let unsent = 0;
  const post = (count: number): void => {
    // The completions of the messages before are there, or will be in a moment.
    while (unsent > 0) unsent -= end.drain(sendCq);
    qp.postSend(sends, 0, count);
    unsent = count;
  };
  return { end, address: qp.qpNum, connect, post };
}

/** It polls, or waits by `waitSync()`. */
export function verbs(type: "UD" | "RC", sleeps: boolean = false): Echo {
  const { end, address, connect, post } = open(type, !sleeps);
  const { qp, recvCq, recvs } = end;
  /** Waits for messages. Returns how many came, and posts as many receives. */
  const take = (): number => {
    let n: number;
    while ((n = end.drain(recvCq)) === 0) if (sleeps) recvCq.waitSync();
    qp.postRecv(recvs, 0, n);
    return n;
  };
  const serve = (count: number): void => {
    for (let done = 0; done < count;) {
      const n = take();
      post(n);
      done += n;
    }
  };
  const exchange = (window: number): void => {
    post(window);
    for (let come = 0; come < window;) come += take();
  };
  return { address, connect, serve, play: exchanging(exchange) };
}

/** It waits by `completions()`. */
export function completions(options?: CompletionsOptions): Echo {
  const { end, address, connect, post } = open("UD", false);
  const iterator = end.recvCq.completions(options)[Symbol.asyncIterator]();
  const take = async (): Promise<void> => {
    const { value, done } = await iterator.next();
    if (done) throw new Error("Cannot measure: the completions have ended");
    value.check();
    end.qp.postRecv(end.recvs, 0, 1);
  };
  const serve = async (count: number): Promise<void> => {
    for (let done = 0; done < count; done++) {
      await take();
      post(1);
    }
  };
  const exchange = async (window: number): Promise<void> => {
    post(window);
    for (let come = 0; come < window; come++) await take();
  };
  return { address, connect, serve, play: exchanging(exchange) };
}

// Peers that ask for connections faster than the requests are read keep nothing of the process waiting.

import { assert, assertGreater } from "@std/assert";
import { stub } from "@std/testing/mock";
import { CmEventType, CmId } from "../../../cm.ts";
import { settled } from "../../../wait/descriptors.ts";
import { rdmacm } from "../../../ffi/rdmacm.ts";
import { listenRc } from "../../../net/mod.ts";
import { FakeBed } from "../cm/fake.ts";

/** Each request that is read is followed by another one at once, so many times. */
class Flood implements Disposable {
  requests = 0;
  readonly #stub: Disposable;

  constructor({ net }: FakeBed, listener: CmId, most: number) {
    const library = rdmacm();
    const acknowledge = library.rdma_ack_cm_event;
    const next = (): void => {
      if (listener.disposed || this.requests >= most) return;
      this.requests++;
      net.push(listener, CmEventType.CONNECT_REQUEST);
    };
    this.#stub = stub(library, "rdma_ack_cm_event", (event) => {
      const result = acknowledge(event);
      next();
      return result;
    });
    next();
  }

  [Symbol.dispose](): void {
    this.#stub[Symbol.dispose]();
  }
}

/** Asserts that a timer fires and a signal ends the flood's reader while requests still come. */
function testFlood(
  title: string,
  most: number,
  read: (bed: FakeBed, signal: AbortSignal) => Promise<void>,
): void {
  Deno.test(title, async () => {
    {
      using bed = new FakeBed();
      const abort = new AbortController();
      const made = Promise.withResolvers<CmId>();
      const { listen } = CmId.prototype;
      using _listen = stub(CmId.prototype, "listen", function (this: CmId, backlog): void {
        listen.call(this, backlog);
        made.resolve(this);
      });
      let requests = 0;
      const flooding = (async () => {
        const listener = await made.promise;
        using flood = new Flood(bed, listener, most);
        // A busy host may have read one request only when the first timer fires.
        for (let timers = 0; timers < 50 && flood.requests < 2; timers++) {
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
        requests = flood.requests;
        abort.abort();
      })();
      await read(bed, abort.signal);
      await flooding;
      assertGreater(requests, 1, "requests that were read until a timer fired");
      assertGreater(most, requests, "requests that were read until a timer fired");
    }
    // Ends when no other thread waits any more.
    await settled();
    await new Promise((resolve) => setImmediate(resolve));
  });
}

testFlood(
  "A flood of requests lets a timer fire, while a program reads them",
  30_000,
  async ({ net }, signal) => {
    using listener = new CmId(net.channel);
    listener.bindAddr({ hostname: "10.0.0.1", port: 7471 });
    listener.listen();
    try {
      for await (const { id } of net.channel.events({ signal })) id.close();
    } catch (error) {
      assert(signal.aborted, `${error}`);
    }
  },
);

testFlood(
  "A flood of requests lets a timer fire, while nobody takes them",
  30_000,
  async ({ net }, signal) => {
    using listener = new CmId(net.channel);
    listener.bindAddr({ hostname: "10.0.0.1", port: 7471 });
    listener.listen();
    using other = new CmId(net.channel);
    const resolved = other.resolveAddr({ hostname: "10.0.0.2", port: 1 }, { signal });
    await resolved.catch((error) => assert(signal.aborted, `${error}`));
  },
);

testFlood(
  "A flood of requests lets a timer fire, while listenRc() reads them",
  3000,
  async (_bed, signal) => {
    await using listener = await listenRc({ port: 7471 });
    await listener.accept({ signal }).catch((error) => assert(signal.aborted, `${error}`));
  },
);

// Peers of a listener that want no connection: what they cost, and that others are served meanwhile.
import * as recorder from "../../provider/recorder.ts";
import {
  assertEquals,
  assertGreater,
  assertInstanceOf,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { stub } from "@std/testing/mock";
import { Context } from "../../../mod.ts";
import {
  connectRc,
  listenRc,
  type RcAddress,
  type RcListener,
  type RcListenOptions,
} from "../../../net/mod.ts";
import { TcpAcceptor } from "../../../net/rc/tcp_acceptor.ts";
import { until } from "../../until.ts";

const OPTIONS = { device: "recorder0", credits: 2, sendDepth: 2, maxMessage: 64 };
const DEVICE = "ibv_open_device";

/** An address of this host. Nobody ever greets from it. */
function ownAddress(): RcAddress {
  using context = Context.open(OPTIONS.device);
  const gid = context.recommendGid(1).gid.toString();
  const numbers = { lid: 1, qpNum: 17, psn: 5, mtu: 1024, rdAtomic: 1, credits: 2, maxMessage: 64 };
  return { transport: "RC", gid, ...numbers };
}

/** A listener and its peers. */
class Bed implements AsyncDisposable {
  readonly own: string;
  readonly listener: RcListener;
  readonly #peers: Deno.TcpConn[] = [];

  private constructor(own: string, listener: RcListener) {
    this.own = own;
    this.listener = listener;
  }

  static async open(options: RcListenOptions = {}): Promise<Bed> {
    recorder.reset();
    const own = lineOf(ownAddress());
    recorder.take();
    const connectTimeout = 60_000;
    return new Bed(
      own,
      await listenRc({ ...OPTIONS, connectTimeout, onFailure: () => {}, ...options }),
    );
  }

  /** A peer connects, and sends something. */
  async call(line: string): Promise<Deno.TcpConn> {
    const tcp = await Deno.connect({ hostname: "127.0.0.1", port: this.listener.addr.port });
    this.#peers.push(tcp);
    // The listener may have closed the connection already.
    if (line !== "") await tcp.write(new TextEncoder().encode(line)).catch(() => {});
    return tcp;
  }

  /** A good peer calls. Returns the answer; it is empty if the listener refuses. */
  async ask(line: string = this.own): Promise<string> {
    return await answerOf(await this.call(line));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.listener[Symbol.asyncDispose]();
    for (const tcp of this.#peers) tcp.close();
    assertEquals([recorder.live(), recorder.violations()], [0, []]);
  }
}

function lineOf(address: RcAddress): string {
  return `${JSON.stringify(address)}\n`;
}

async function answerOf(tcp: Deno.TcpConn): Promise<string> {
  const buffer = new Uint8Array(4096);
  const count = await tcp.read(buffer).catch(() => null);
  return new TextDecoder().decode(buffer.subarray(0, count ?? 0));
}

const ANSWER = '{"transport":"RC",';

Deno.test("a pending accept() does not hide why the listener is closed", async () => {
  const pending: Promise<unknown>[] = [];
  await assertRejects(
    async () => {
      await using bed = await Bed.open();
      pending.push(bed.listener.accept());
      throw new Error("the reason");
    },
    Error,
    "the reason",
  );
  // An error that nobody waits for would end the process in the next turn.
  await new Promise((resolve) => setTimeout(resolve));
  await assertRejects(() => pending[0]!, Deno.errors.BadResource, "the listener is closed");
});

const GARBAGE = "garbage\n";

Deno.test("RcListener tells of a series of failures once, and again after a connection", async () => {
  const failures: Error[] = [];
  await using bed = await Bed.open({ onFailure: (error) => failures.push(error) });
  recorder.connect();
  const { port } = bed.listener.addr;
  for (const series of [1, 2]) {
    for (const _ of [1, 2, 3]) await bed.ask(GARBAGE);
    await until("the failure", () => bed.listener.stats.failed === 3 * series);
    assertEquals(failures.length, series);
    const [client, server] = await Promise.all([
      connectRc({ ...OPTIONS, tcpPort: port }),
      bed.listener.accept(),
    ]);
    for (const conn of [client, server]) await conn.close();
  }
  const [{ message, cause }] = failures as [Error];
  assertEquals(
    message,
    `An RcListener at 127.0.0.1 port ${port} has failed to connect to a peer, and works on: ` +
      "the address of the peer is not valid: it is not JSON",
  );
  assertInstanceOf(cause, Deno.errors.InvalidData);
});

Deno.test("RcListener writes a warning to the console, and ends when it is closed where it is told", async () => {
  using warned = stub(console, "warn");
  {
    await using bed = await Bed.open({ onFailure: undefined as never });
    await bed.ask(GARBAGE);
    await until("the warning", () => warned.calls.length > 0);
    assertStringIncludes(`${warned.calls[0]!.args[0]}`, "An RcListener at 127.0.0.1 port");
  }
  await using bed: Bed = await Bed.open({ onFailure: () => bed.listener.close() });
  const accepted = bed.listener.accept();
  await bed.ask(GARBAGE);
  await assertRejects(() => accepted, Deno.errors.BadResource, "the listener is closed");
  assertEquals(warned.calls.length, 1);
});

Deno.test("RcListener checks no peer that is not ready yet: the check would break the connection", async () => {
  await using bed = await Bed.open({ keepAlive: 1 });
  assertStringIncludes(await bed.ask(), ANSWER);
  await new Promise((resolve) => setTimeout(resolve, 50));
  assertEquals(recorder.takeOf("ibv_post_send"), []);
});

Deno.test("RcListener opens the device once for peers that are silent after the handshake", async () => {
  await using bed = await Bed.open();
  const answers = await Promise.all(Array.from({ length: 20 }, () => bed.ask()));
  for (const answer of answers) assertStringIncludes(answer, ANSWER);
  assertEquals(recorder.takeOf(DEVICE, "ibv_alloc_pd").length, 2);
  assertEquals(["context", "pd", "qp"].map((kind) => recorder.live(kind)), [1, 1, 20]);
});

Deno.test("RcListener makes queues for one peer at a time, and lets the event loop run between", async () => {
  await using bed = await Bed.open();
  const turns: number[] = [];
  let going = true;
  const counting = (async () => {
    for (let turn = 0, last = false; !last; turn++) {
      // The last one may be made after the last look.
      last = !going;
      while (turns.length < recorder.live("qp")) turns.push(turn);
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
  await Promise.all(Array.from({ length: 10 }, () => bed.ask()));
  going = false;
  await counting;
  assertEquals([turns.length, new Set(turns).size], [10, 10]);
});

Deno.test("RcListener lets the event loop run while peers that fail come without end", async () => {
  const { BadResource } = Deno.errors;
  let come = 0;
  let comeInTurn = 0;
  const request = {
    hostname: "127.0.0.1",
    read: () => Promise.reject(new Error("nonsense")),
    makeEnd: () => Promise.reject(new Error("no end")),
    connect: () => Promise.reject(new Error("no connection")),
    close: () => {},
    [Symbol.dispose]: () => {},
  };
  using _ = stub(TcpAcceptor.prototype, "accept", () => {
    // Not for ever: a listener that lets nothing else run would hang.
    return ++come < 5000 ? Promise.resolve(request) : Promise.reject(new BadResource("no more"));
  });
  await using _bed = await Bed.open();
  setImmediate(() => comeInTurn = come);
  await until("a turn of the event loop", () => comeInTurn > 0);
  assertGreater(5000, comeInTurn);
});

Deno.test("RcListener closes the device when no connection is left, and opens it again", async () => {
  await using bed = await Bed.open({ connectTimeout: 500 });
  for (let i = 0; i < 2; i++) {
    assertStringIncludes(await bed.ask(), ANSWER);
    await until("the failure", () => bed.listener.stats.failed > i);
    assertEquals([recorder.live(), recorder.takeOf(DEVICE).length], [0, 1]);
  }
});

Deno.test("RcListener serves others while 670 peers send garbage or nothing", async () => {
  await using bed = await Bed.open();
  const lines = ["", "garbage\n", "{", "", `{"transport":"RC"}\n`];
  const flood = (async () => {
    for (let i = 0; i < 670; i++) await bed.call(lines[i % lines.length]!);
  })();
  assertStringIncludes(await bed.ask(), ANSWER);
  await flood;
  assertStringIncludes(await bed.ask(), ANSWER);
  const { failed, refused } = bed.listener.stats;
  assertGreater(failed, 100);
  // At most maxPerPeer of the others are left.
  assertGreater(failed + refused, 600);
  assertEquals(recorder.takeOf(DEVICE).length, 1);
});

Deno.test("RcListener uses no device for a peer that is silent, or sends no address", async () => {
  await using bed = await Bed.open();
  await bed.call("");
  for (const line of ["garbage\n", "{}\n", "null\n"]) assertEquals(await bed.ask(line), "");
  assertEquals(recorder.take(), []);
  assertEquals(bed.listener.stats.failed, 3);
});

Deno.test("RcListener and connectRc() make no connection with an address that is not permitted", async () => {
  const address = ownAddress();
  const foreign = "::ffff:10.66.6.6";
  const group = "::ffff:239.1.2.3";
  const { InvalidData } = Deno.errors;
  for (const [peerGid, permitted] of [["tcp", []], ["any", [foreign]]] as const) {
    await using bed = await Bed.open({ peerGid });
    for (const gid of [foreign, group]) {
      const line = lineOf({ ...address, gid });
      const isPermitted = permitted.some((one) => one === gid);
      assertEquals((await bed.ask(line)).startsWith(ANSWER), isPermitted, `${peerGid} ${gid}`);
      if (isPermitted) continue;
      assertInstanceOf(bed.listener.stats.lastError, InvalidData);
      using peer = Deno.listen({ hostname: "127.0.0.1", port: 0 });
      const answering = (async () => {
        using tcp = await peer.accept();
        await tcp.read(new Uint8Array(4096));
        await tcp.write(new TextEncoder().encode(line));
      })();
      const connecting = connectRc({ ...OPTIONS, tcpPort: peer.addr.port, peerGid });
      const words = gid === group ? "many hosts" : "it connects from 127.0.0.1";
      await assertRejects(() => connecting, InvalidData, words);
      await answering;
    }
    const { failed, refused } = bed.listener.stats;
    const expected = [2 - permitted.length, 0, permitted.length];
    assertEquals([failed, refused, recorder.live("qp")], expected);
  }
});

Deno.test("RcListener lets the peer go that was silent longest, for the next one", async () => {
  for (const limits of [{ maxHandshakes: 2 }, { maxPerPeer: 2 }]) {
    await using bed = await Bed.open(limits);
    const first = await bed.call("");
    const second = await bed.call("");
    await bed.call("");
    assertEquals(await answerOf(first), "");
    const { refused, failed } = bed.listener.stats;
    assertEquals([refused, failed], [1, 0]);
    // Another one takes the place of the second, unless its address has come.
    await second.write(new TextEncoder().encode(bed.own));
    await bed.call("");
    assertStringIncludes(await answerOf(second), ANSWER);
  }
});

Deno.test("RcListener refuses peers when too many connections are in the making", async () => {
  for (const limits of [{ maxPending: 2 }, { maxPerPeer: 2 }]) {
    await using bed = await Bed.open(limits);
    const answers = [await bed.ask(), await bed.ask(), await bed.ask()];
    assertEquals(answers.map((answer) => answer.startsWith(ANSWER)), [true, true, false]);
    const { refused, failed, connected } = bed.listener.stats;
    assertEquals([refused, failed, connected, recorder.live("qp")], [1, 0, 0, 2]);
  }
});

Deno.test("RcListener opens another device when the first one does not answer any more", async () => {
  await using bed = await Bed.open();
  assertStringIncludes(await bed.ask(), ANSWER);
  recorder.fail("___ibv_query_port", "EIO", { times: 1 });
  assertStringIncludes(await bed.ask(), ANSWER);
  assertStringIncludes(await bed.ask(), ANSWER);
  assertEquals([recorder.live("context"), recorder.takeOf(DEVICE).length], [2, 2]);
});

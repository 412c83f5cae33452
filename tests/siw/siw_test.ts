// Connections over iWARP, on a soft-iWARP device. `deno task long siw` runs them.

import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { CmError, CmEventType, CmId, EventChannel, PortSpace } from "../../cm.ts";
import {
  AccessFlags,
  listDevices,
  QpState,
  QpType,
  type QueuePair,
  TransportType,
  VerbsError,
  WrOpcode,
} from "../../mod.ts";
import { bindAll } from "../../ffi/library.ts";
import { bindRdmacm } from "../../ffi/rdmacm.ts";
import { OpenDevice } from "../device/open_device.ts";
import { start } from "../device/programs.ts";

const HOSTNAME = "10.9.0.1";
const { LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ } = AccessFlags;
const DATA = (length: number): Uint8Array<ArrayBuffer> =>
  Uint8Array.from({ length }, (_, i) => i ^ 0x5a);

bindAll();
bindRdmacm();
// librdmacm opens the device, and keeps it open.
{
  using channel = new EventChannel();
  new CmId(channel).bindAddr({ hostname: HOSTNAME, port: 0 });
}

/** The device, with a channel. */
class Bed extends OpenDevice {
  readonly channel: EventChannel = new EventChannel();
  readonly #mr = this.newMr(4096, LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ);

  constructor() {
    super("siw0");
  }

  get mr(): ReturnType<OpenDevice["newMr"]> {
    return this.#mr;
  }

  listener(): CmId {
    const id = new CmId(this.channel);
    id.bindAddr({ hostname: HOSTNAME, port: 0 });
    id.listen();
    return id;
  }

  async routed(port: number): Promise<CmId> {
    const id = new CmId(this.channel);
    await id.resolveAddr({ hostname: HOSTNAME, port });
    await id.resolveRoute();
    return id;
  }

  async request(): Promise<CmId> {
    for await (const { event, id } of this.channel) {
      if (event === CmEventType.CONNECT_REQUEST) return id;
    }
    throw new Error("Cannot wait: the channel has ended");
  }

  /** Both ends of a new connection, with receives. */
  async connected(): Promise<{ client: CmId; server: CmId; left: QueuePair; right: QueuePair }> {
    const client = await this.routed(this.listener().srcPort);
    const [left, right] = [this.newQp(QpType.RC), this.newQp(QpType.RC)];
    const connected = client.connect(left);
    const server = await this.request();
    server.prepare(right);
    right.postRecv({ sge: this.mr.sge(2048, 64) });
    await server.accept(right);
    await connected;
    await client.establish();
    return { client, server, left, right };
  }

  /** Waits for completions, all of them good. */
  async complete(count: number): Promise<void> {
    const completions = this.cq.completions();
    for (let i = 0; i < count; i++) (await completions.next()).value!.check();
    await completions.return();
  }

  override [Symbol.dispose](): void {
    this.channel.close();
    super[Symbol.dispose]();
  }
}

function test(title: string, body: (bed: Bed) => Promise<void>): void {
  Deno.test(title, async () => {
    using bed = new Bed();
    await body(bed);
  });
}

test("siw0 is an iWARP device", () => {
  const info = listDevices().find(({ name }) => name === "siw0");
  assertEquals(info?.transportType, TransportType.IWARP);
  return Promise.resolve();
});

test("Both ends know their states, and messages, writes and reads go through", async (bed) => {
  const { client, server, left, right } = await bed.connected();
  assertEquals([client.state, server.state], ["ESTABLISHED", "ESTABLISHED"]);
  assertEquals([left.state, right.state], [QpState.INIT, QpState.INIT]);
  const { mr } = bed;
  mr.sge(0, 64).bytes.set(DATA(64));
  left.postSend({ sge: mr.sge(0, 64) });
  await bed.complete(2);
  assertEquals(mr.sge(2048, 64).bytes.slice(), DATA(64));
  const { addr, rkey } = mr;
  const write = { opcode: WrOpcode.RDMA_WRITE, rkey } as const;
  left.postSend({ ...write, sge: mr.sge(0, 64), remoteAddr: addr + 1024n });
  await bed.complete(1);
  assertEquals(mr.sge(1024, 64).bytes.slice(), DATA(64));
  const read = { opcode: WrOpcode.RDMA_READ, rkey } as const;
  left.postSend({ ...read, sge: mr.sge(3072, 64), remoteAddr: addr + 1024n });
  await bed.complete(1);
  assertEquals(mr.sge(3072, 64).bytes.slice(), DATA(64));
  const ended = server.disconnected();
  assertEquals(await client.disconnect({ timeout: 10_000 }), true);
  await ended;
  assertEquals([left.state, right.state], [QpState.ERR, QpState.ERR]);
});

test("Private data arrives with its own length, up to 251 bytes", async (bed) => {
  const listener = bed.listener();
  for (const length of [0, 5, 251]) {
    const client = await bed.routed(listener.srcPort);
    const connected = client.connect(bed.newQp(QpType.RC), { privateData: DATA(length) });
    const accepted = (async () => {
      for await (const { id, conn } of bed.channel) {
        assertEquals(conn!.privateData, DATA(length));
        return await id.accept(bed.newQp(QpType.RC), { privateData: DATA(length) });
      }
    })();
    assertEquals((await connected).conn!.privateData, DATA(length));
    await accepted;
  }
  const client = await bed.routed(listener.srcPort);
  const tooLong = { privateData: DATA(252) };
  await assertRejects(() => client.connect(bed.newQp(QpType.RC), tooLong), RangeError, "251");
});

test("A rejection carries its data", async (bed) => {
  const client = await bed.routed(bed.listener().srcPort);
  const qp = bed.newQp(QpType.RC);
  const rejected = assertRejects(() => client.connect(qp), CmError);
  (await bed.request()).reject(DATA(9));
  assertEquals((await rejected).privateData, DATA(9));
});

test("What iWARP lacks is refused: datagrams and groups", async (bed) => {
  assertThrows(() => bed.newQp(QpType.UD), VerbsError, "EOPNOTSUPP");
  const id = new CmId(bed.channel, PortSpace.UDP);
  id.bindAddr({ hostname: HOSTNAME, port: 0 });
  await assertRejects(() => id.joinMulticast("239.1.2.3"), VerbsError);
});

test("CmId talks to rdma_server and rdma_client", async (bed) => {
  const port = 18_100;
  {
    await using peer = start("rdma_server", "-s", HOSTNAME, "-p", String(port));
    for (let tries = 0;; tries++) {
      const id = await bed.routed(port);
      const qp = bed.newQp(QpType.RC);
      id.prepare(qp);
      qp.postRecv({ sge: bed.mr.sge(2048, 16) });
      try {
        await id.connect(qp);
      } catch (error) {
        if (tries === 100) throw error;
        id.close();
        await new Promise((resolve) => setTimeout(resolve, 50));
        continue;
      }
      qp.postSend({ sge: bed.mr.sge(0, 16) });
      await bed.complete(2);
      await id.disconnect({ timeout: 10_000 });
      break;
    }
    const { code, stdout, stderr } = await peer.ending;
    assertEquals([code, stderr], [0, ""], stdout);
  }
  const listener = bed.listener();
  await using peer = start("rdma_client", "-s", HOSTNAME, "-p", String(listener.srcPort));
  const server = await bed.request();
  const qp = bed.newQp(QpType.RC);
  server.prepare(qp);
  qp.postRecv({ sge: bed.mr.sge(2048, 16) });
  await server.accept(qp);
  await bed.complete(1);
  qp.postSend({ sge: bed.mr.sge(0, 16) });
  await bed.complete(1);
  await server.disconnected();
  const { code, stdout, stderr } = await peer.ending;
  assertEquals([code, stderr], [0, ""], stdout);
});

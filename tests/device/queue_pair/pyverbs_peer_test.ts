// RDMA writes, reads, atomics and messages between this module and pyverbs, in both directions.
import { assertEquals } from "@std/assert";
import {
  Gid,
  type MemoryRegion,
  ProtectionDomain,
  QpType,
  type SendRequest,
  WrOpcode,
} from "../../../mod.ts";
import { start } from "../programs.ts";
import { connect, deviceTest, type End, makeEnd, openRxe, PORT, RXE, waitFor } from "../setup.ts";

/** What each side tells the other. `gid` is eight groups of four digits, as pyverbs prints it. */
interface Address {
  readonly qpn: number;
  readonly gid: string;
  readonly addr: string;
  readonly rkey: number;
}

const SCRIPT = new URL("../../python/rc_peer.py", import.meta.url).pathname;
const { RDMA_WRITE, RDMA_READ, ATOMIC_FETCH_AND_ADD, ATOMIC_CMP_AND_SWP } = WrOpcode;

for (const gidIndex of [0, 1]) {
  deviceTest(
    `An RC queue pair and a peer made with pyverbs use each other's memory, GID index ${gidIndex}`,
    async () => {
      using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
      await using peer = start(
        "/usr/bin/python3",
        SCRIPT,
        RXE,
        String(gidIndex),
        String(listener.addr.port),
      );
      using context = openRxe();
      using pd = new ProtectionDomain(context);
      const end = makeEnd(pd, QpType.RC);
      using lines = new Lines(await accepted(listener, peer.ending));
      const remote = await lines.read() as Address;
      const gid = context.queryGid(PORT, gidIndex);
      const { qp, mr } = end;
      connect(qp, remote.qpn, {
        portNum: PORT,
        grh: { dgid: Gid.parse(remote.gid), sgidIndex: gidIndex, hopLimit: 64 },
      });
      await lines.write({ qpn: qp.qpNum, gid: groups(gid), addr: String(mr.addr), rkey: mr.rkey });
      put(mr, 256, "deno".padEnd(16));
      mr.bytes(512, 8)[0] = 40;
      qp.postRecv({ sge: mr.slice(2048, 64) });
      assertEquals(await lines.read(), "ready");

      const fetched = await useMemoryOf(remote, end);
      assertEquals(fetched, { read: "python".padEnd(16), fetched: 40n, swapped: 45n });
      await lines.write("done");
      assertEquals(await lines.read(), {
        written: "from deno".padEnd(16),
        counter: 77,
        message: "from deno",
      });

      await lines.write("your turn");
      const received = await waitFor(end.cq, 1);
      assertEquals(await lines.read(), { read: "deno".padEnd(16), fetched: 40, swapped: 45 });
      assertEquals(text(mr, 2048, received[0]!.check().byteLen), "from python");
      assertEquals(text(mr, 0, 16), "from python".padEnd(16));
      assertEquals(u64(mr, 512), 77n);
      await lines.write("bye");
      const { code, stderr } = await peer.ending;
      assertEquals([code, stderr], [0, ""]);
    },
  );
}

async function useMemoryOf(
  remote: Address,
  { qp, cq, mr }: End,
): Promise<{ read: string; fetched: bigint; swapped: bigint }> {
  const at = (offset: number) => ({
    remoteAddr: BigInt(remote.addr) + BigInt(offset),
    rkey: remote.rkey,
  });
  const run = async (request: SendRequest) => {
    qp.postSend(request);
    (await waitFor(cq))[0]!.check();
  };
  put(mr, 1024, "from deno".padEnd(16));
  await run({ opcode: RDMA_WRITE, sge: mr.slice(1024, 16), ...at(0) });
  await run({ opcode: RDMA_READ, sge: mr.slice(1040, 16), ...at(256) });
  await run({ opcode: ATOMIC_FETCH_AND_ADD, sge: mr.slice(1056, 8), ...at(512), compareAdd: 5n });
  const swap = { compareAdd: 45n, swap: 77n };
  await run({ opcode: ATOMIC_CMP_AND_SWP, sge: mr.slice(1064, 8), ...at(512), ...swap });
  await run({ sge: mr.slice(1024, 9) });
  return { read: text(mr, 1040, 16), fetched: u64(mr, 1056), swapped: u64(mr, 1064) };
}

/** The peer's connection, or the reason why there is none. */
async function accepted(
  listener: Deno.TcpListener,
  ending: Promise<{ stderr: string }>,
): Promise<Deno.TcpConn> {
  const ended = ending.then(({ stderr }): never => {
    throw new Error(`The pyverbs peer has ended: ${stderr}`);
  });
  return await Promise.race([listener.accept(), ended]);
}

/** Lines of JSON over a connection. */
class Lines implements Disposable {
  readonly #connection: Deno.TcpConn;
  #rest = "";

  constructor(connection: Deno.TcpConn) {
    this.#connection = connection;
  }

  async read(): Promise<unknown> {
    const chunk = new Uint8Array(1024);
    while (!this.#rest.includes("\n")) {
      const count = await this.#connection.read(chunk);
      if (count === null) throw new Error("The pyverbs peer has closed the connection");
      this.#rest += new TextDecoder().decode(chunk.subarray(0, count));
    }
    const end = this.#rest.indexOf("\n");
    const line = this.#rest.slice(0, end);
    this.#rest = this.#rest.slice(end + 1);
    return JSON.parse(line);
  }

  async write(value: unknown): Promise<void> {
    await this.#connection.write(new TextEncoder().encode(`${JSON.stringify(value)}\n`));
  }

  [Symbol.dispose](): void {
    this.#connection.close();
  }
}

function groups(gid: Gid): string {
  const digits = Array.from(gid.bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return digits.match(/.{4}/g)!.join(":");
}

function put(mr: MemoryRegion, offset: number, content: string): void {
  mr.bytes(offset, content.length).set(new TextEncoder().encode(content));
}

function text(mr: MemoryRegion, offset: number, length: number): string {
  return new TextDecoder().decode(mr.bytes(offset, length));
}

function u64(mr: MemoryRegion, offset: number): bigint {
  const bytes = mr.bytes(offset, 8);
  return new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0, true);
}

import { PortSpace } from "@rdma/ibverbs/cm";
import { AccessFlags, QpType, WrOpcode } from "@rdma/ibverbs";
import { asClient, asServer, CM_OPTIONS, type CmEnd, readWhere, type Where } from "./cm/cm_end.ts";
import { type Command, command, CommandError, flag, number } from "./shell/command.ts";

/** Offsets of the note to send, the received note, and the data. */
const [OUT, IN, DATA] = [0, 16, 32];
/** The bytes of a note. */
const NOTE = 16;
const MOST = 65_535;
/** There is room for the text that each round begins with. */
const LEAST = 32;
const SIZE = 64;

const { LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE } = AccessFlags;
const NEEDS = { portSpace: PortSpace.TCP, qpType: QpType.RC, depth: 2 } as const;

/** Where memory of the client is. */
interface Note {
  readonly remoteAddr: bigint;
  readonly rkey: number;
  readonly size: number;
}

/** What the server sends back: only its arrival matters. */
const GO_ON: Note = { remoteAddr: 0n, rkey: 0, size: 0 };

interface Result {
  readonly role: "client" | "server";
  readonly rounds: number;
  readonly bytes: number;
}

type Show = (text: string) => void;

export const rping: Command = command({
  name: "rping",
  summary: "Lets the peer read and write memory by RDMA, as rping does; works with it.",
  details: `
Without HOST it is a server and waits for a client; with HOST, a name or an address, it connects to
the server there. The peer may be rping. In each round the server reads data from the client and
writes it back, and the client compares.`,
  operands: "[HOST]",
  options: {
    ...CM_OPTIONS,
    count: number("NUMBER", "client: rounds; it goes on by default", [1, 0x7fff_ffff], "C"),
    size: number("BYTES", `client: bytes of a round (default ${SIZE})`, [LEAST, MOST], "S"),
    verbose: flag("show the data", "v"),
  },
  async run(values, terminal, operands): Promise<number> {
    const where = readWhere(values, operands, ["count", "size"]);
    const show: Show = (text) =>
      values.verbose && !values.json ? terminal.print([text]) : undefined;
    const result = where.host === undefined
      ? await asServer(
        where,
        { ...NEEDS, bytes: DATA + MOST, access: LOCAL_WRITE },
        async (end) => await serve(end, show),
      )
      : await ping(where, values, show);
    const { rounds, bytes } = result;
    if (values.json) terminal.printJson(result);
    else terminal.print([`${rounds} rounds, ${bytes} bytes there and back`]);
    return 0;
  },
});

/** Serves a client until it ends the connection. */
async function serve(end: CmEnd, show: Show): Promise<Result> {
  const { id, qp, mr, signal } = end;
  expectNote(end);
  await id.accept(qp, {}, { signal });
  const ended = followEnd(end);
  let [rounds, bytes] = [0, 0];
  for (let from = await noteFrom(end); from !== undefined; from = await noteFrom(end)) {
    const { size } = from;
    if (size > MOST) throw new CommandError(`the client asks for ${size} bytes, ${MOST} at most`);
    await move(end, WrOpcode.RDMA_READ, from);
    show(`server ping data: ${textIn(mr.sge(DATA, size).bytes)}`);
    await sendNote(end, GO_ON);
    const to = await noteFrom(end);
    if (to === undefined) break;
    await move(end, WrOpcode.RDMA_WRITE, { ...to, size });
    await sendNote(end, GO_ON);
    rounds++;
    bytes += size;
  }
  await ended;
  return { role: "server", rounds, bytes };
}

/** Offers data to a server again and again, and compares what it writes back. */
async function ping(
  where: Where,
  { count = Infinity, size = SIZE }: {
    readonly count: number | undefined;
    readonly size: number | undefined;
  },
  show: Show,
): Promise<Result> {
  const access = LOCAL_WRITE | REMOTE_READ | REMOTE_WRITE;
  return await asClient(where, { ...NEEDS, bytes: DATA + 2 * size, access }, async (end) => {
    const { id, qp, mr, signal } = end;
    expectNote(end);
    await id.connect(qp, {}, { signal });
    await id.establish();
    void followEnd(end);
    const [source, sink] = [mr.sge(DATA, size), mr.sge(DATA + size, size)];
    let rounds = 0;
    for (; rounds < count; rounds++) {
      fill(source.bytes, rounds);
      for (const { offset } of [source, sink]) {
        await sendNote(end, { remoteAddr: mr.addr + BigInt(offset), rkey: mr.rkey, size });
        if (await noteFrom(end) !== undefined) continue;
        throw new CommandError(`the server has ended the connection after ${rounds} rounds`);
      }
      if (!source.bytes.every((byte, i) => byte === sink.bytes[i])) {
        throw new CommandError(`round ${rounds} came back changed`);
      }
      show(`ping data: ${textIn(sink.bytes)}`);
    }
    await id.disconnect({ timeout: where.timeout * 1000 });
    return { role: "client", rounds, bytes: rounds * size };
  });
}

/** Reads the events of the connection meanwhile: the end of the connection flushes the receives. */
function followEnd({ id, signal }: CmEnd): Promise<void> {
  const ended = id.disconnected({ signal });
  // The wait for a message gets the error.
  ended.catch(() => {});
  return ended;
}

function expectNote({ qp, mr }: CmEnd): void {
  qp.postRecv({ sge: mr.sge(IN, NOTE) });
}

/** The next note of the peer. It is undefined if the connection has ended. */
async function noteFrom(end: CmEnd): Promise<Note | undefined> {
  const completion = await end.received();
  if (completion === undefined) return undefined;
  const { byteLen } = completion;
  if (byteLen !== NOTE) throw new CommandError(`the peer sent ${byteLen} bytes, not ${NOTE}`);
  const { buffer, byteOffset } = end.mr.sge(IN, NOTE).bytes;
  const view = new DataView(buffer, byteOffset);
  const note = {
    remoteAddr: view.getBigUint64(0),
    rkey: view.getUint32(8),
    size: view.getUint32(12),
  };
  expectNote(end);
  return note;
}

async function sendNote(end: CmEnd, { remoteAddr, rkey, size }: Note): Promise<void> {
  const { buffer, byteOffset } = end.mr.sge(OUT, NOTE).bytes;
  const view = new DataView(buffer, byteOffset);
  view.setBigUint64(0, remoteAddr);
  view.setUint32(8, rkey);
  view.setUint32(12, size);
  end.qp.postSend({ sge: end.mr.sge(OUT, NOTE) });
  await end.sent();
}

async function move(
  end: CmEnd,
  opcode: typeof WrOpcode.RDMA_READ | typeof WrOpcode.RDMA_WRITE,
  { remoteAddr, rkey, size }: Note,
): Promise<void> {
  end.qp.postSend({ opcode, sge: end.mr.sge(DATA, size), remoteAddr, rkey });
  await end.sent();
}

/** Text that differs from round to round and ends with 0: rping writes no more back than the text. */
function fill(data: Uint8Array, round: number): void {
  const A = 65;
  for (const i of data.keys()) data[i] = A + (round + i) % 26;
  new TextEncoder().encodeInto(`rdma-ping-${round}: `, data);
  data[data.length - 1] = 0;
}

function textIn(data: Uint8Array): string {
  const end = data.indexOf(0);
  return new TextDecoder().decode(end < 0 ? data : data.slice(0, end));
}

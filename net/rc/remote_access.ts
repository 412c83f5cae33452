import { type SendRequest, WrOpcode } from "../../mod.ts";
import type { Link } from "./link.ts";
import { ATOMIC_SIZE, type RemotePart } from "./remote_memory.ts";

/** Writes, reads and atomics on memory of the peer. Each one uses slots of the link. */
export class RemoteAccess {
  readonly #link: Link;
  readonly #slotSize: number;

  /** Uses the slots of a link, which have this size. */
  constructor(link: Link, slotSize: number) {
    this.#link = link;
    this.#slotSize = slotSize;
  }

  /** Writes bytes to a part that has as many. */
  async write(
    { remoteAddr, rkey }: RemotePart,
    data: Uint8Array,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const opcode = WrOpcode.RDMA_WRITE;
    await this.#each(data.length, (start, size) => {
      const request = { opcode, remoteAddr: remoteAddr + BigInt(start), rkey };
      const piece = data.subarray(start, start + size);
      return this.#link.operate(request, size, piece, () => {}, signal);
    });
  }

  /** Fills a buffer from a part that has as many bytes. */
  async read(
    { remoteAddr, rkey }: RemotePart,
    buffer: Uint8Array,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const opcode = WrOpcode.RDMA_READ;
    await this.#each(buffer.length, (start, size) => {
      const request = { opcode, remoteAddr: remoteAddr + BigInt(start), rkey };
      const finish = (bytes: Uint8Array): void => buffer.set(bytes.subarray(0, size), start);
      return this.#link.operate(request, size, undefined, finish, signal);
    });
  }

  /** Does an atomic. Returns the number before. */
  async atomic(
    operation: SendRequest,
    part: RemotePart,
    signal: AbortSignal | undefined,
  ): Promise<bigint> {
    const request = { ...operation, ...part };
    return await this.#link.operate(request, ATOMIC_SIZE, undefined, numberOf, signal);
  }

  /** Splits bytes into pieces that fit slots. */
  async #each(length: number, use: (start: number, size: number) => Promise<void>): Promise<void> {
    const slotSize = this.#slotSize;
    await Promise.all(Array.from({ length: Math.ceil(length / slotSize) }, (_, i) => {
      const start = i * slotSize;
      return use(start, Math.min(slotSize, length - start));
    }));
  }
}

function numberOf(bytes: Uint8Array<ArrayBuffer>): bigint {
  const isLittleEndian = true; // as both architectures that Deno has
  return new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, isLittleEndian);
}

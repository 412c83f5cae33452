/**
 * The addresses of the senders of one port's packets.
 *
 * @module
 */

import { structs } from "../../ffi/layout.ts";
import { grhIn } from "../address_handle/wc_address.ts";
import { initError } from "../address_handle/init_ah_from_wc.ts";
import type { WcAddress } from "../completion/work_completion.ts";
import type { Context } from "../device/context.ts";
import { GidCache } from "./gid_cache.ts";
import { GrhMemory, type ReceiveMemory } from "./grh_memory.ts";
import { localIn, localOf, ReplyAddress } from "./reply_address.ts";

const { size: WC_SIZE, fields } = structs.ibv_wc;
const WC_FLAGS = fields.wc_flags.offset;

/** Computes the addresses of senders from completions and GRHs, with the port's GID table. */
export class SenderAddress {
  /** The address that was computed last. */
  readonly address: ReplyAddress;
  readonly #context: Context;
  readonly #port: number;
  readonly #memory: GrhMemory = new GrhMemory();
  /** The GID table; undefined until it is read again. */
  #gids: GidCache | undefined;

  /** Computes addresses of packets that a port receives. */
  constructor(context: Context, port: number) {
    this.#context = context;
    this.#port = port;
    this.address = new ReplyAddress(port);
  }

  /** Forgets the GID table. */
  forget(): void {
    this.#gids = undefined;
  }

  #table(): GidCache {
    return this.#gids ??= GidCache.read(this.#context, this.#port);
  }

  /**
   * Computes the address from a completion and a GRH.
   *
   * @throws {VerbsError} If the C function would fail.
   */
  compute(wc: WcAddress, grh: DataView): void {
    const errno = this.address.compute(wc.wcFlags, localOf(wc), grh, 0, this.#table());
    if (errno !== 0) throw initError(errno, this.#port, grhIn(grh, 0));
  }

  /**
   * Computes the address from a completion in native layout and the GRH at an offset of memory. Returns 0, or the errno
   * of the C function.
   */
  computeAt(wc: DataView, index: number, memory: ReceiveMemory, offset: number): number {
    const at = index * WC_SIZE;
    const grhAt = this.#memory.find(memory, offset);
    return this.address.compute(
      wc.getUint32(at + WC_FLAGS, true),
      localIn(wc, at),
      this.#memory.view,
      grhAt,
      this.#table(),
    );
  }

  /** The error of {@linkcode SenderAddress.computeAt}. */
  error(errno: number, memory: ReceiveMemory, offset: number): Error {
    const at = this.#memory.find(memory, offset);
    return initError(errno, this.#port, grhIn(this.#memory.view, at));
  }
}

/**
 * The addresses that come of generated completions, compared bit by bit with those a C program gets of the same
 * bytes.
 */

import { assertEquals } from "@std/assert";
import { type Context, WorkCompletionList } from "../../mod.ts";
import { structs } from "../../ffi/layout.ts";
import { batchCore } from "../../types/completion/work_completion_list.ts";
import { GidCache } from "../../types/reply/gid_cache.ts";
import { ReplyAddress } from "../../types/reply/reply_address.ts";
import { compileC } from "../c/compile.ts";
import { PORT } from "./setup.ts";
import { Random } from "../random.ts";
import { generateWcPairs } from "./wc_generator.ts";

/** Bytes of a completion. */
const WC: number = structs.ibv_wc.size;
const GRH: number = structs.ibv_grh.size;
const ATTR = structs.ibv_ah_attr.size;
/** Bytes of a completion and its GRH. */
const PAIR: number = WC + GRH;
/** What the C program writes for a pair: the return value, errno and the address. */
const RESULT = 8 + ATTR;
const CHUNK = 10_000;
/** The GID that a packet was sent to is not in the table. */
export const EINVAL = 22;

/** A run of pairs, as the C program reads them and as the library does. */
interface Chunk {
  readonly pairs: Uint8Array<ArrayBuffer>;
  readonly batch: WorkCompletionList;
  /** The GRHs. */
  readonly memory: Uint8Array<ArrayBuffer>;
}

/** What is compared. */
export interface Plan {
  readonly device: string;
  readonly context: Context;
  readonly count: number;
  readonly seed: number;
  /** How many pairs whose GID is not in the table to leave in, about: each costs C thousands of system calls. */
  readonly misses: number;
}

/** Takes pairs from a pool, and changes them at random places. */
class Mutator {
  readonly #random: Random;
  readonly #pool: readonly { wc: Uint8Array<ArrayBuffer>; grh: Uint8Array<ArrayBuffer> }[];

  constructor(context: Context, seed: number) {
    this.#random = new Random(seed);
    const gids = context.queryGidTable(PORT);
    this.#pool = generateWcPairs(4000, { gids, seed: 77, misses: 40 });
  }

  fill(chunk: Chunk, i: number): void {
    const random = this.#random;
    const { wc, grh } = this.#pool[random.below(this.#pool.length)]!;
    chunk.pairs.set(wc, i * PAIR);
    const at = i * PAIR + WC;
    chunk.pairs.set(grh, at);
    const word = random.uint32();
    // the completion's LID, service level and path bits; the sender, of either version; the route
    new DataView(chunk.pairs.buffer).setUint32(i * PAIR + structs.ibv_wc.fields.slid.offset, word);
    chunk.pairs[at + 8 + (word & 0xf)] = word >>> 8;
    chunk.pairs[at + (word >>> 4 & 3)]! ^= word >>> 24 & 0x0f;
    if ((word & 0x700) === 0) chunk.pairs[at + (word >>> 11) % GRH]! ^= 1 << (word & 7);
    new Uint8Array(batchCore(chunk.batch).view.buffer).set(
      chunk.pairs.subarray(i * PAIR, i * PAIR + WC),
      i * WC,
    );
    chunk.memory.set(chunk.pairs.subarray(at, at + GRH), i * GRH);
  }
}

/** What the library gives, in the form of the C program. */
function resultsOf(
  { context, misses, count }: Plan,
  mutator: Mutator,
  chunk: Chunk,
): Uint8Array<ArrayBuffer> {
  const { length } = chunk.pairs;
  const results = new Uint8Array(length / PAIR * RESULT);
  const view = new DataView(results.buffer);
  const [address, gids] = [new ReplyAddress(PORT), GidCache.read(context, PORT)];
  const [wcs, grhs] = [batchCore(chunk.batch).view, new DataView(chunk.memory.buffer)];
  let missesLeft = misses * length / PAIR / count;
  for (let i = 0; i < length / PAIR; i++) {
    let errno = 0;
    do {
      mutator.fill(chunk, i);
      errno = address.computeAt(wcs, i, grhs, i * GRH, gids);
      // decided by the errno of what is tested: a wrong one would show among those left in
    } while (errno === EINVAL && !isMulticast(chunk.memory, i * GRH) && missesLeft-- < 1);
    results.set(new Uint8Array(address.words.buffer), i * RESULT + 8);
    writeOutcome(view, i, errno);
  }
  return results;
}

function writeOutcome(view: DataView<ArrayBuffer>, i: number, errno: number): void {
  view.setInt32(i * RESULT, errno === 0 ? 0 : -1, true);
  view.setInt32(i * RESULT + 4, errno, true);
}

function isMulticast(memory: Uint8Array, at: number): boolean {
  return memory[at + 24] === 0xff || memory[at + 36]! >> 4 === 0xe;
}

async function resultsOfC(
  device: string,
  chunks: AsyncIterable<Uint8Array<ArrayBuffer>>,
): Promise<Uint8Array<ArrayBuffer>> {
  const child = new Deno.Command(await compileC("ah_from_wc.c", ["-libverbs"]), {
    args: [device, String(PORT)],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const input = ReadableStream.from(chunks).pipeTo(child.stdin);
  const { code, stdout } = await child.output();
  await input;
  assertEquals(code, 0);
  return stdout as Uint8Array<ArrayBuffer>;
}

/** Compares, and returns how many pairs had each errno. */
export async function compare(plan: Plan): Promise<Map<number, number>> {
  const mutator = new Mutator(plan.context, plan.seed);
  const inputs: Uint8Array[] = [];
  const expected: Uint8Array[] = [];
  const memory = new Uint8Array(CHUNK * GRH);
  async function* chunks(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    for (let done = 0; done < plan.count; done += CHUNK) {
      const length = Math.min(CHUNK, plan.count - done);
      const chunk = {
        pairs: new Uint8Array(length * PAIR),
        batch: new WorkCompletionList(length),
        memory,
      };
      expected.push(resultsOf(plan, mutator, chunk));
      inputs.push(chunk.pairs);
      yield chunk.pairs;
      await Promise.resolve();
    }
  }
  const actual = await resultsOfC(plan.device, chunks());
  assertEquals(actual.length, plan.count * RESULT);
  const counts = new Map<number, number>();
  for (const [c, results] of expected.entries()) {
    for (let i = 0; i < results.length / RESULT; i++) {
      const at = c * CHUNK * RESULT + i * RESULT;
      const ofC = actual.subarray(at, at + RESULT);
      const result = results.subarray(i * RESULT, (i + 1) * RESULT);
      if (!isSame(ofC, result)) {
        const input = inputs[c]!.subarray(i * PAIR, (i + 1) * PAIR).toHex();
        throw new Error(
          `Cannot agree on ${input}: C has ${ofC.toHex()}, the library ${result.toHex()}`,
        );
      }
      const errno = hasFailed(ofC) ? ofC[4]! : 0;
      counts.set(errno, (counts.get(errno) ?? 0) + 1);
    }
  }
  return counts;
}

function hasFailed(result: Uint8Array): boolean {
  return result[0] !== 0;
}

function isSame(ofC: Uint8Array, result: Uint8Array): boolean {
  const failed = hasFailed(ofC);
  for (let i = 0; i < RESULT; i++) {
    // errno says nothing where the function succeeded
    if (ofC[i] !== result[i] && (failed || i < 4 || i >= 8)) return false;
  }
  return true;
}

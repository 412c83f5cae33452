// The addresses that come of work completions, compared with those a C program gets of the same bytes.
import { assertEquals, assertGreater, assertInstanceOf } from "@std/assert";
import {
  type AhAttr,
  type Context,
  Grh,
  initAhFromWc,
  VerbsError,
  WorkCompletion,
} from "../../../mod.ts";
import { errnoName } from "../../../ffi/errno.ts";
import { structs } from "../../../ffi/layout.ts";
import { ahAttrCodec } from "../../../types/address/ah_attr.ts";
import { compileC } from "../../c/compile.ts";
import { deviceTest, openRxe, PORT, RXE } from "../setup.ts";
import { generateWcPairs, type WcPair } from "../wc_generator.ts";

const COUNT = 1000;
/** In the emulated guest a miss takes some 10 ms. */
const MISSES = 10;
const SEED = 20_260;

/** What became of one pair. */
interface Result {
  readonly code: string;
  readonly attr: AhAttr | undefined;
}

function pairsFor(context: Context): WcPair[] {
  return generateWcPairs(COUNT, { gids: context.gidTable(PORT), seed: SEED, misses: MISSES });
}

async function resultsOfC(pairs: readonly WcPair[]): Promise<Result[]> {
  const program = await compileC("ah_from_wc.c", ["-libverbs"]);
  const child = new Deno.Command(program, {
    args: [RXE, String(PORT)],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const input = new Blob(pairs.flatMap(({ wc, grh }) => [wc, grh])).stream().pipeTo(child.stdin);
  const { code, stdout } = await child.output();
  await input;
  assertEquals(code, 0);
  const size = 8 + structs.ibv_ah_attr.size;
  assertEquals(stdout.length, pairs.length * size);
  return pairs.map((_, i) =>
    resultOfC(new DataView(stdout.slice(i * size, (i + 1) * size).buffer))
  );
}

function resultOfC(view: DataView<ArrayBuffer>): Result {
  if (view.getInt32(0, true) !== 0) {
    return { code: errnoName(view.getInt32(4, true)), attr: undefined };
  }
  return { code: "", attr: ahAttrCodec.read(view, 8) };
}

function completionOf(pair: WcPair): WorkCompletion {
  return new WorkCompletion(new DataView(pair.wc.buffer), 0);
}

function failed(error: unknown): Result {
  assertInstanceOf(error, VerbsError);
  assertEquals(error.verb, "ibv_init_ah_from_wc");
  return { code: error.code, attr: undefined };
}

function resultSync(context: Context, pair: WcPair): Result {
  try {
    const attr = initAhFromWc(context, PORT, completionOf(pair), new Grh(pair.grh));
    return { code: "", attr };
  } catch (error) {
    return failed(error);
  }
}

function assertSame(actual: readonly Result[], expected: readonly Result[], pairs: WcPair[]): void {
  for (const [i, pair] of pairs.entries()) {
    assertEquals(actual[i], expected[i], `pair ${i}: ${pair.grh.toHex()}`);
  }
}

deviceTest("initAhFromWc() equals C for generated completions", async () => {
  using context = openRxe();
  const pairs = pairsFor(context);
  const expected = await resultsOfC(pairs);
  assertSame(pairs.map((pair) => resultSync(context, pair)), expected, pairs);
  const codes = Map.groupBy(expected, ({ code }) => code);
  assertEquals([...codes.keys()].sort(), ["", "EINVAL", "EPROTONOSUPPORT"]);
  for (const found of codes.values()) assertGreater(found.length, COUNT / 20);
});

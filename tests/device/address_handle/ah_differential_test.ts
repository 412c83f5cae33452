// The addresses that come of work completions, compared with those a C program gets of the same bytes.
import { assert, assertEquals, assertGreater, assertInstanceOf } from "@std/assert";
import {
  type AhAttr,
  type Context,
  Grh,
  initAhFromWc,
  initAhFromWcAsync,
  VerbsError,
  WorkCompletion,
} from "../../../mod.ts";
import { errnoName } from "../../../ffi/errno.ts";
import { structs } from "../../../ffi/layout.ts";
import { library } from "../../../ffi/library.ts";
import { ahAttrCodec } from "../../../types/address/ah_attr.ts";
import { compileC } from "../../c/compile.ts";
import { outputOf } from "../../subprocess.ts";
import { deviceTest, openRxe, PORT, RXE } from "../setup.ts";
import { generateWcPairs, type WcPair } from "../wc_generator.ts";

const COUNT = 3000;
/** In the emulated guest a miss takes some 10 ms. */
const MISSES = 30;
const SEED = 20_260;

/** What became of one pair. */
interface Result {
  readonly code: string;
  readonly attr: AhAttr | undefined;
}

function pairsFor(context: Context, count = COUNT): WcPair[] {
  return generateWcPairs(count, { gids: context.gidTable(PORT), seed: SEED, misses: MISSES });
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

async function resultAsync(context: Context, pair: WcPair): Promise<Result> {
  try {
    const attr = await initAhFromWcAsync(context, PORT, completionOf(pair), new Grh(pair.grh));
    return { code: "", attr };
  } catch (error) {
    return failed(error);
  }
}

function assertSame(actual: readonly Result[], expected: readonly Result[], pairs: WcPair[]): void {
  for (const [i, pair] of pairs.entries()) {
    assertEquals(actual[i], expected[i], `pair ${i}, ${pair.what}: ${pair.grh.toHex()}`);
  }
}

deviceTest("initAhFromWc() equals C for generated completions", async () => {
  using context = openRxe();
  const pairs = pairsFor(context);
  const expected = await resultsOfC(pairs);
  assertSame(pairs.map((pair) => resultSync(context, pair)), expected, pairs);
});

deviceTest("generateWcPairs() reaches every outcome", async () => {
  using context = openRxe();
  const pairs = pairsFor(context);
  const results = await resultsOfC(pairs);
  const codes = Map.groupBy(results, ({ code }) => code);
  assertEquals([...codes.keys()].sort(), ["", "EINVAL", "EPROTONOSUPPORT"]);
  for (const found of codes.values()) assertGreater(found.length, COUNT / 20);
  const used = new Set(results.flatMap(({ attr }) => attr?.isGlobal ? [attr.grh.sgidIndex] : []));
  for (const { gidIndex } of context.gidTable(PORT)) assert(used.has(gidIndex), `GID ${gidIndex}`);
  const versions = Map.groupBy(pairs, ({ what, grh }) => `${what} ${new Grh(grh).ipVersion}`);
  for (const decided of ["ipv4BehindIpv6LookingJunk 4", "ipv4WithCarryBehindIpv6LookingJunk 6"]) {
    assert(versions.has(decided), decided);
  }
});

deviceTest("initAhFromWcAsync() equals C for generated completions", async () => {
  using context = openRxe();
  const pairs = pairsFor(context, 1000);
  const expected = await resultsOfC(pairs);
  const results: Result[] = [];
  for (let i = 0; i < pairs.length; i += 50) {
    const some = pairs.slice(i, i + 50);
    results.push(...await Promise.all(some.map((pair) => resultAsync(context, pair))));
  }
  assertSame(results, expected, pairs);
});

deviceTest("initAhFromWc() gives the same with thunks and without them", async () => {
  using context = openRxe();
  const other = library().thunks ? "off" : "on";
  const pairs = pairsFor(context, 1000);
  const script = `
    import { Context, Grh, initAhFromWc, WorkCompletion } from MOD;
    using context = Context.open("${RXE}");
    const results = [];
    for (const [wc, grh] of ${
    JSON.stringify(pairs.map(({ wc, grh }) => [wc.toHex(), grh.toHex()]))
  }) {
      const completion = new WorkCompletion(new DataView(Uint8Array.fromHex(wc).buffer), 0);
      try {
        const attr = initAhFromWc(context, ${PORT}, completion, new Grh(Uint8Array.fromHex(grh)));
        results.push({ code: "", attr });
      } catch (error) {
        results.push({ code: error.code });
      }
    }
    console.log(JSON.stringify(results));`;
  const printed = await outputOf(script, { env: { IBVERBS_THUNKS: other } });
  const here = pairs.map((pair) => resultSync(context, pair));
  assertEquals(JSON.parse(printed), JSON.parse(JSON.stringify(here)));
});

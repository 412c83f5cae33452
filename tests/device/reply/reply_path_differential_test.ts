// The addresses of senders, compared bit by bit with those a C program gets of the same bytes.
import { assert, assertEquals, assertGreater } from "@std/assert";
import { compare, EINVAL } from "../differential.ts";
import { DEVICE, movingLink } from "../moving_link.ts";
import { deviceTest, openRxe, PORT, RXE } from "../setup.ts";

function assertVaried(counts: Map<number, number>, count: number): void {
  assertEquals([...counts.keys()].sort((a, b) => a - b), [0, EINVAL, 93]);
  for (const found of counts.values()) assertGreater(found, count / 50);
}

deviceTest("ReplyAddress equals C for generated completions", async () => {
  using context = openRxe();
  // "deno task long fuzz ah" compares a million, which its seed chooses.
  const count = Number(Deno.env.get("IBVERBS_PAIRS") ?? 6000);
  const seed = Number(Deno.env.get("IBVERBS_SEED") ?? 4711);
  const misses = 30 + count / 2000;
  assertVaried(await compare({ device: RXE, context, count, seed, misses }), count);
});

deviceTest("ReplyAddress equals C when the table holds 300 GIDs", async () => {
  await using link = await movingLink();
  await link.addAll(Array.from({ length: 300 }, (_, i) => `10.7.${i >> 7}.${(i & 127) + 1}`));
  const { context } = link;
  assert(context.queryGidTable(PORT).some(({ gidIndex }) => gidIndex > 256));
  const count = 2000;
  assertVaried(
    await compare({ device: DEVICE, context, count, seed: 4711, misses: 20 }),
    count,
  );
});

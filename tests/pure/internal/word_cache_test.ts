// The table that finds peers, beside a model of it.

import { assertEquals } from "@std/assert";
import { WordCache } from "../../../internal/word_cache.ts";
import { Random } from "../../random.ts";

/** Keys of some words that differ in one or two words, also in those that no hint looks at. */
function keyOf(i: number, words: number): Uint32Array<ArrayBuffer> {
  const key = Uint32Array.from({ length: words }, (_, at) => at);
  key[i % words] = i;
  return key;
}

for (const words of [8, 13]) {
  Deno.test(`WordCache finds what a map finds that forgets the least recently used of its keys, of ${words} words`, () => {
    const capacity = 50;
    const random = new Random(words);
    const cache = new WordCache<number>(capacity, words);
    const model = new Map<number, number>();
    const touch = (i: number): void => {
      const value = model.get(i)!;
      model.delete(i);
      model.set(i, value);
    };
    for (let step = 0; step < 20_000; step++) {
      const i = 100 + random.below(80);
      const key = keyOf(i, words);
      assertEquals(cache.find(key), model.get(i));
      if (model.has(i)) {
        touch(i);
        continue;
      }
      const oldest = model.size === capacity ? model.keys().next().value! : undefined;
      const forgotten = oldest === undefined ? undefined : model.get(oldest);
      if (oldest !== undefined) model.delete(oldest);
      model.set(i, step);
      assertEquals([cache.set(key, step), cache.size], [forgotten, model.size]);
    }
    assertEquals(cache.takeAll(), [...model.values()]);
    assertEquals([cache.size, cache.find(keyOf(100, words))], [0, undefined]);
  });
}

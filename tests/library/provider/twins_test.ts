// Every request of the C program is compared with one of a class.
import { assertEquals, assertGreater } from "@std/assert";

const provider = new URL("../../provider/", import.meta.url);

async function textOf(folder: URL, isWanted: (name: string) => boolean): Promise<string> {
  const names = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name);
  const texts = names.filter(isWanted).sort().map((name) =>
    Deno.readTextFile(new URL(name, folder))
  );
  return (await Promise.all(texts)).join("\n");
}

/** The first group of each match, in alphabetical order. */
function found(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, name]) => name!).sort();
}

Deno.test("Every request in C has a twin in TypeScript", async () => {
  const c = await textOf(new URL("c/requests/", provider), (name) => name.endsWith(".c"));
  const tests = await textOf(new URL("./", import.meta.url), (name) => name.endsWith("_test.ts"));
  const inC = found(c, /^REQUEST\((\w+)\)$/gm);
  const twins = found(tests, /^ {2}(\w+): (?:.*=>|rule\()/gm);
  assertGreater(inC.length, 60);
  assertEquals([...new Set(twins.filter((name) => inC.includes(name)))], inC);
});

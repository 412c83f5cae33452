// What the cache keeps, and what becomes of files that are damaged there.

import { assertEquals } from "@std/assert";
import type { cached } from "../../../rxe/host/cached.ts";
import { cacheFolder } from "../../../rxe/host/paths.ts";

type Make = Parameters<typeof cached>[1];

/** Calls `cached()` of one name, each time as if from a process of its own. */
class Bed implements AsyncDisposable {
  readonly #name = `test-${crypto.randomUUID()}`;
  #count = 0;
  made = 0;

  readonly make = async (folder: string): Promise<void> => {
    this.made++;
    await Deno.mkdir(`${folder}/a`);
    await Deno.writeTextFile(`${folder}/a/file`, "whole");
  };

  async again(make: Make = this.make): Promise<string> {
    const module = await import(`../../../rxe/host/cached.ts?${this.#name}-${this.#count++}`);
    return await module.cached(`${this.#name}/folder`, make);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(`${cacheFolder()}/${this.#name}`, { recursive: true });
  }
}

Deno.test("cached() makes a folder once, whoever asks, and again if it was not finished", async () => {
  await using bed = new Bed();
  await bed.again(() => Promise.reject(new Error("interrupted"))).catch(() => {});
  const paths = await Promise.all([bed.again(), bed.again(), bed.again()]);
  assertEquals([new Set(paths).size, bed.made], [1, 1]);
  assertEquals(await Deno.readTextFile(`${paths[0]}/a/file`), "whole");
});

const damages: [what: string, damage: (folder: string) => Promise<void>][] = [
  ["a file is cut short", (folder) => Deno.truncate(`${folder}/a/file`, 2)],
  ["a byte of a file differs", (folder) => Deno.writeTextFile(`${folder}/a/file`, "whale")],
  ["a file was added", (folder) => Deno.writeTextFile(`${folder}/a/other`, "")],
  ["a file is a link to another one", async (folder) => {
    await Deno.rename(`${folder}/a/file`, `${folder}/a/moved`);
    await Deno.symlink("moved", `${folder}/a/file`);
  }],
  ["a file is missing", (folder) => Deno.remove(`${folder}/a/file`)],
  ["everything in it is missing", async (folder) => {
    await Deno.remove(folder, { recursive: true });
    await Deno.mkdir(folder);
  }],
  ["it is a file", async (folder) => {
    await Deno.remove(folder, { recursive: true });
    await Deno.writeTextFile(folder, "");
  }],
];

for (const [what, damage] of damages) {
  Deno.test(`cached() makes a folder anew when ${what}`, async () => {
    await using bed = new Bed();
    const path = await bed.again();
    await damage(path);
    assertEquals([await bed.again(), bed.made], [path, 2]);
    assertEquals(await Deno.readTextFile(`${path}/a/file`), "whole");
  });
}

// What the cache keeps, and what becomes of files that are damaged there.

import { assertEquals, assertRejects } from "@std/assert";
import { cached, digest } from "../../host/cached.ts";
import { cacheFolder } from "../../host/paths.ts";
import { programs } from "./programs.ts";

type Make = Parameters<typeof cached>[1];

/** Calls `cached()` of one name, each time as if from a process of its own. */
class Bed implements AsyncDisposable {
  readonly #name = `test-${crypto.randomUUID()}`;
  #count = 0;
  made = 0;

  readonly make = async (folder: string): Promise<void> => {
    this.made++;
    await Deno.mkdir(`${folder}/a`);
    // Not in the order of their names.
    for (const name of ["z", "b", "a/file", "y", "c"]) {
      await Deno.writeTextFile(`${folder}/${name}`, "whole");
    }
  };

  async again(make: Make = this.make): Promise<string> {
    const module = await import(`../../host/cached.ts?${this.#name}-${this.#count++}`);
    return await module.cached(`${this.#name}/folder`, make);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(`${cacheFolder()}/${this.#name}`, { recursive: true });
  }
}

Deno.test("cached() makes a folder once, whoever asks, and again if it was not finished", async () => {
  await using bed = new Bed();
  const interrupted = async (folder: string): Promise<void> => {
    await Deno.writeTextFile(`${folder}/partial`, "");
    throw new Error("interrupted");
  };
  await assertRejects(() => bed.again(interrupted), Error, "interrupted");
  const paths = await Promise.all([bed.again(), bed.again(), bed.again()]);
  assertEquals([new Set(paths).size, bed.made], [1, 1]);
  assertEquals([...Deno.readDirSync(paths[0]!)].map(({ name }) => name).sort(), [
    ...["SHA256SUMS", "a", "b", "c", "y", "z"],
  ]);
  const sum = "5d5766cf2d78701614200418ee1450690d9af12c84d52545e4802f001ad53099";
  assertEquals(
    await Deno.readTextFile(`${paths[0]}/SHA256SUMS`),
    ["a/file", "b", "c", "y", "z"].map((name) => `${sum}  ${name}\n`).join(""),
  );
});

Deno.test("cached() looks once in a process", async () => {
  await using bed = new Bed();
  const path = await bed.again();
  const name = path.slice(cacheFolder().length + 1);
  const never = (): Promise<void> => Promise.reject(new Error("it is made again"));
  assertEquals(await cached(name, never), path);
  await Deno.remove(path, { recursive: true });
  assertEquals(await cached(name, never), path);
});

Deno.test("cached() rejects when it cannot say whether a folder is whole", async () => {
  await using bed = new Bed();
  const path = await bed.again();
  await Deno.remove(`${path}/SHA256SUMS`);
  await Deno.mkdir(`${path}/SHA256SUMS`);
  await assertRejects(() => bed.again());
  assertEquals(bed.made, 1);
});

Deno.test("digest() is that of all texts", async () => {
  const bytes = new TextEncoder().encode("b");
  assertEquals(await digest(["a", bytes]), "29efd862964bb39d");
  assertEquals(await digest([bytes]), await digest(["b"]));
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
    await using ran = await programs({});
    assertEquals([await bed.again(), bed.made], [path, 2]);
    assertEquals(ran.said(), `set-up: ${path} is damaged, making it anew\n`);
    assertEquals(await Deno.readTextFile(`${path}/a/file`), "whole");
  });
}

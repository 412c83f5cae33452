// What the cache keeps, and what becomes of files that are damaged there.

import { assertEquals } from "@std/assert";
import type { cached } from "../../../rxe/host/cached.ts";
import { cacheFolder } from "../../../rxe/host/paths.ts";

type Make = Parameters<typeof cached>[1];

/** Calls back with `cached()` of one name, each call as if from a process of its own. */
async function withName(
  use: (again: (make: Make) => Promise<string>) => Promise<void>,
): Promise<void> {
  const name = `test-${crypto.randomUUID()}`;
  let count = 0;
  try {
    await use(async (make) => {
      const module = await import(`../../../rxe/host/cached.ts?${name}-${count++}`);
      return await module.cached(`${name}/folder`, make);
    });
  } finally {
    await Deno.remove(`${cacheFolder()}/${name}`, { recursive: true });
  }
}

function counter(): { made: number; make: Make } {
  const found = {
    made: 0,
    make: async (folder: string) => {
      found.made++;
      await Deno.mkdir(`${folder}/a`);
      await Deno.writeTextFile(`${folder}/a/file`, "whole");
    },
  };
  return found;
}

Deno.test("cached() makes a folder once, whoever asks", async () => {
  await withName(async (again) => {
    const tally = counter();
    const paths = await Promise.all([again(tally.make), again(tally.make), again(tally.make)]);
    assertEquals(new Set(paths).size, 1);
    assertEquals(tally.made, 1);
    assertEquals(await Deno.readTextFile(`${paths[0]}/a/file`), "whole");
  });
});

Deno.test("cached() makes a folder anew that was not finished", async () => {
  await withName(async (again) => {
    const tally = counter();
    await again(() => Promise.reject(new Error("interrupted"))).catch(() => {});
    await again(tally.make);
    assertEquals(tally.made, 1);
  });
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
    await withName(async (again) => {
      const tally = counter();
      const path = await again(tally.make);
      await damage(path);
      assertEquals(await again(tally.make), path);
      assertEquals(tally.made, 2);
      assertEquals(await Deno.readTextFile(`${path}/a/file`), "whole");
    });
  });
}

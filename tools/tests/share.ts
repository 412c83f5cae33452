/**
 * Loads test files into one process and registers a share of their tests, every so-and-so-many-th.
 * `deno test` itself loads all modules anew for each file, and an emulated processor is slow at that.
 *
 *     deno test share.ts -- 1/2 FILES...
 *
 * @module
 */

const [share, ...files] = Deno.args;
const [index, count] = share!.split("/").map(Number) as [number, number];

const register = Deno.test;
let seen = 0;

function registerShare(...test: Parameters<typeof register>): void {
  if (seen++ % count === index - 1) register(...test);
}

Object.assign(Deno, { test: Object.assign(registerShare, register) });
for (const file of files) {
  try {
    await import(new URL(`../../${file}`, import.meta.url).href);
  } catch (error) {
    register(`${file} can be loaded`, () => {
      throw error;
    });
  }
}

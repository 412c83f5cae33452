/**
 * Loads test files into one process. `deno test` itself would load all modules anew for each file,
 * and an emulated processor is slow at that. The name of each test names its file.
 *
 *     deno test share.ts -- FILES...
 */

type Register = (...test: unknown[]) => void;

const register = Deno.test as unknown as Register;

function registerOf(file: string): Register {
  const named = (name: unknown): string => `${name} [${file}]`;
  return (first, ...rest) => {
    const isName = typeof first === "string";
    const test = first as { readonly name: string };
    register(isName ? named(first) : { ...test, name: named(test.name) }, ...rest);
  };
}

for (const file of Deno.args) {
  Object.assign(Deno, { test: Object.assign(registerOf(file), register) });
  try {
    await import(new URL(`../../${file}`, import.meta.url).href);
  } catch (error) {
    register(`${file} can be loaded`, () => {
      throw error;
    });
  }
}

// The machine code of thunks, executed and checked by a C driver: natively, and under qemu for the other architecture.
import { assertEquals, assertNotEquals } from "@std/assert";
import { stepsImage } from "../../ffi/library/native_steps.ts";
import { buildImage } from "../../ffi/thunks/image.ts";
import type { Arch, Thunk } from "../../ffi/thunks/thunk.ts";
import { compileC } from "../c/compile.ts";

// What thunk_driver.c lays out.
const PATHS = [[48], [0, 96], [-320], [8, -4088], [-8, 32760, 0]];
const PARAMETERS = 7;

/** A command line that runs programs of an architecture here. */
type Runner = readonly string[];

for (const arch of ["x86_64", "aarch64"] as const) {
  Deno.test(`buildImage() writes ${arch} code that keeps registers, stack, arguments and errno`, async () => {
    assertEquals(
      await check(arch, arch === Deno.build.arch ? [] : await findQemu(arch)),
      "0 failures\n",
    );
  });
}

Deno.test("the driver notices a thunk that leads elsewhere", async () => {
  assertNotEquals(await check(Deno.build.arch, [], { mix3: "mix4" }), "0 failures\n");
});

for (const arch of ["x86_64", "aarch64"] as const) {
  Deno.test(`native_steps() of ${arch} stops after the first result that is not wanted`, async () => {
    const runner = arch === Deno.build.arch ? [] : await findQemu(arch);
    const { bytes } = stepsImage(arch);
    assertEquals(await runOn(bytes, runner, await compileDriver(arch), "steps"), "0 failures\n");
  });
}

/** What the driver says of an image, some of whose thunks may lead elsewhere. */
async function check(
  arch: Arch,
  runner: Runner,
  elsewhere: Readonly<Record<string, string>> = {},
): Promise<string> {
  const driver = await compileDriver(arch);
  const addresses = parseAddresses(await run(runner, driver, "addresses"));
  for (const [name, other] of Object.entries(elsewhere)) addresses.set(name, addresses.get(other)!);
  return await runOn(buildDriverImage(arch, addresses), runner, driver, "check");
}

async function runOn(
  image: Uint8Array<ArrayBuffer>,
  runner: Runner,
  ...words: string[]
): Promise<string> {
  const file = await Deno.makeTempFile({ suffix: ".so" });
  try {
    await Deno.writeFile(file, image);
    return await run(runner, ...words, file);
  } finally {
    await Deno.remove(file);
  }
}

function buildDriverImage(arch: Arch, addresses: Map<string, bigint>): Uint8Array<ArrayBuffer> {
  const thunks: Thunk[] = [];
  for (let n = 0; n <= PARAMETERS; n++) {
    const target = { address: addresses.get(`mix${n}`)! };
    thunks.push({ name: `jump_address_${n}`, target });
    thunks.push({ name: `errno_address_${n}`, target, errnoAfter: n });
    if (n === 0) continue;
    PATHS.forEach((path, i) => {
      thunks.push({ name: `jump_path_${i}_${n}`, target: { path } });
      thunks.push({ name: `errno_path_${i}_${n}`, target: { path }, errnoAfter: n });
    });
  }
  return buildImage(thunks, arch, addresses.get("errno_location")!).bytes;
}

function compileDriver(arch: Arch): Promise<string> {
  // Without position independence the addresses are the same in every run.
  const compiler = arch === Deno.build.arch ? "gcc" : `${arch}-linux-gnu-gcc`;
  return compileC("thunk_driver.c", ["-no-pie", "-fno-pie", "-ldl"], compiler);
}

function parseAddresses(text: string): Map<string, bigint> {
  const lines = text.trimEnd().split("\n").map((line) => line.split(" "));
  return new Map(lines.map(([name, address]) => [name!, BigInt(address!)]));
}

async function run(runner: Runner, ...words: string[]): Promise<string> {
  const [command, ...args] = [...runner, ...words];
  const { stdout, stderr, signal } = await new Deno.Command(command!, { args }).output();
  const text = new TextDecoder().decode(stdout);
  if (signal !== null) return `${text}${signal} ${new TextDecoder().decode(stderr)}`;
  return text;
}

async function findQemu(arch: Arch): Promise<Runner> {
  for (const command of [`qemu-${arch}-static`, `qemu-${arch}`]) {
    try {
      await new Deno.Command(command, { args: ["--version"] }).output();
      return [command, "-L", `/usr/${arch}-linux-gnu`];
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  throw new Error(
    `Cannot run ${arch} code: qemu-${arch} is missing (apt-get install qemu-user-static)`,
  );
}

// Thunks as Deno calls them, synchronously and on other threads.
import { assertEquals, assertInstanceOf, assertStringIncludes, assertThrows } from "@std/assert";
import { errnoLocation } from "../../ffi/errno.ts";
import { buildImage } from "../../ffi/thunks/image.ts";
import { loadImage, ThunksUnavailable } from "../../ffi/thunks/memfd.ts";
import type { Thunk } from "../../ffi/thunks/thunk.ts";
import { compileC } from "../c/compile.ts";

// Opened here, not in a test: neither is ever closed.
const ERRNO_LOCATION = errnoLocation();
const POINTER = { type: "pointer" } as const;
const TARGET = Deno.dlopen(await compileC("thunk_target.c", ["-shared", "-fPIC"]), {
  ...{ mix0: POINTER, mix1: POINTER, mix2: POINTER, mix3: POINTER, mix4: POINTER, mix5: POINTER },
  ...{ mix6: POINTER, mix7: POINTER, fail: POINTER, refuse: POINTER, same: POINTER },
  fail_late: POINTER,
  set_errno: { parameters: ["i32"], result: "i32" },
  misaligned_calls: { parameters: [], result: "i32" },
}).symbols;

const { mix0, mix1, mix2, mix3, mix4, mix5, mix6, mix7 } = TARGET;
const MIXES = [mix0, mix1, mix2, mix3, mix4, mix5, mix6, mix7];

const EMFILE = 24;

for (let n = 0; n <= 7; n++) {
  Deno.test(`loadImage() keeps errno and the result of a call with ${n} parameters`, async () => {
    const target = { address: addressOf(MIXES[n]!) };
    const parameters = [...Array<"u64">(n).fill("u64"), "buffer"] as const;
    using image = open([{ name: "call", target, errnoAfter: n }], {
      call: { parameters, result: "u64" },
      later: { name: "call", parameters, result: "u64", nonblocking: true },
    });
    const { call, later } = image.symbols;
    for (let round = 1n; round <= 50n; round++) {
      const values = Array.from({ length: n }, (_, i) => random64(round, BigInt(i)));
      const errno = Int32Array.of(-1, -1);
      assertEquals(call(...values, errno), mix(values));
      assertEquals([...errno], [errnoOfMix(values), -1]);
      const lateErrno = Int32Array.of(-1, -1);
      assertEquals(await later(...values, lateErrno), mix(values));
      assertEquals([...lateErrno], [errnoOfMix(values), -1]);
    }
    assertEquals(TARGET.misaligned_calls(), 0);
  });
}

Deno.test("a thunk gives errno 0 when the call sets none, whatever errno was before", () => {
  using image = open(
    [{ name: "same", target: { address: addressOf(TARGET.same) }, errnoAfter: 1 }],
    { same: { parameters: ["buffer", "buffer"], result: "pointer" } },
  );
  const errno = Int32Array.of(-1);
  TARGET.set_errno(EMFILE);
  const value = new Uint8Array(8);
  assertEquals(
    addressOf(image.symbols.same(value, errno)),
    addressOf(Deno.UnsafePointer.of(value)),
  );
  assertEquals(errno[0], 0);
});

Deno.test("a thunk returns -1 and NULL beside their errno", () => {
  using image = open([
    { name: "fail", target: { address: addressOf(TARGET.fail) }, errnoAfter: 1 },
    { name: "refuse", target: { address: addressOf(TARGET.refuse) }, errnoAfter: 1 },
  ], {
    fail: { parameters: ["i32", "buffer"], result: "i32" },
    refuse: { parameters: ["i32", "buffer"], result: "pointer" },
  });
  const errno = new Int32Array(1);
  assertEquals(image.symbols.fail(EMFILE, errno), -1);
  assertEquals(errno[0], EMFILE);
  assertEquals(image.symbols.refuse(12, errno), null);
  assertEquals(errno[0], 12);
});

Deno.test("a thunk keeps apart the errno of 10000 calls at once", async () => {
  using image = open(
    [{ name: "fail_late", target: { address: addressOf(TARGET.fail_late) }, errnoAfter: 2 }],
    {
      failLate: {
        name: "fail_late",
        parameters: ["u32", "i32", "buffer"],
        result: "i32",
        nonblocking: true,
      },
    },
  );
  const calls = Array.from({ length: 10_000 }, (_, i) => {
    const errno = new Int32Array(1);
    return image.symbols.failLate(i % 50, 1 + i, errno).then((result) => [result, errno[0]]);
  });
  const wanted = Array.from({ length: 10_000 }, (_, i) => [-1 - i, 1 + i]);
  assertEquals(await Promise.all(calls), wanted);
});

Deno.test("loadImage() binds each of 400 thunks to its own target", () => {
  const object = new BigUint64Array(400);
  object.set(Array.from({ length: 400 }, (_, i) => addressOf(MIXES[1 + i % 3]!)));
  const thunks = Array.from({ length: 400 }, (_, i) => ({
    name: `thunk_${i}`,
    target: { path: [8 * i] },
  }));
  const definition = { parameters: ["buffer", "u64", "u64"], result: "u64" } as const;
  const symbols = Object.fromEntries(thunks.map(({ name }) => [name, definition]));
  using image = open(thunks, symbols);
  const self = addressOf(Deno.UnsafePointer.of(object));
  thunks.forEach(({ name }, i) => {
    const wanted = mix([self, 7n, 8n].slice(0, 1 + i % 3));
    assertEquals(image.symbols[name]!(object, 7n, 8n), wanted, name);
  });
});

Deno.test("loadImage() opens a new image after another was closed", () => {
  for (const count of [1, 2, 3]) {
    using image = open([{ name: "call", target: { address: addressOf(MIXES[count]!) } }], {
      call: { parameters: ["u64", "u64", "u64"], result: "u64" },
    });
    assertEquals(image.symbols.call(1n, 2n, 3n), mix([1n, 2n, 3n].slice(0, count)));
  }
});

const REFUSE = await compileC("thunk_refuse.c");
const [EPERM, EINVAL, MFD_EXEC] = ["1", "22", "16"];

function refused(printed: string, ...prefix: string[]): () => Promise<void> {
  return async () => {
    const expected = `ThunksUnavailable: Cannot write thunks: ${printed}\n`;
    assertEquals(await runProbe(prefix), expected);
  };
}

Deno.test(
  "loadImage() throws ThunksUnavailable when memfd_create is refused",
  refused("memfd_create() fails with EPERM (Operation not permitted)", REFUSE, EPERM, "0"),
);

const NO_FILES = ["sh", "-c", `trap "" XFSZ; ulimit -f 0; exec "$0" "$@"`];
Deno.test(
  "loadImage() throws ThunksUnavailable when the memfd may not grow",
  refused("write() fails with EFBIG (File too large)", ...NO_FILES),
);

Deno.test("loadImage() does without MFD_EXEC when the kernel does not know it", async () => {
  assertEquals(await runProbe([REFUSE, EINVAL, MFD_EXEC]), "opened\n");
});

Deno.test("loadImage() throws ThunksUnavailable when --allow-ffi is narrowed to paths", async () => {
  const printed = await runProbe([], "--allow-ffi=/usr/lib");
  assertEquals(printed.split(":")[0], "ThunksUnavailable");
});

Deno.test("an image outlives the worker that opened it when a call is on its way", async () => {
  const source = `
    import { loadImage } from ${JSON.stringify(import.meta.resolve("../../ffi/thunks/memfd.ts"))};
    self.onmessage = ({ data }) => {
      const { symbols } = Deno.dlopen(loadImage(data), {
        call: { name: "call", parameters: ["u32", "i32", "buffer"], result: "i32", nonblocking: true },
      });
      symbols.call(300_000, 5, new Int32Array(1));
      self.postMessage("calling");
    };`;
  const target = { address: addressOf(TARGET.fail_late) };
  const worker = new Worker(`data:text/javascript,${encodeURIComponent(source)}`, {
    type: "module",
  });
  const calling = new Promise((resolve) => worker.onmessage = resolve);
  worker.postMessage(
    buildImage([{ name: "call", target, errnoAfter: 2 }], Deno.build.arch, ERRNO_LOCATION),
  );
  await calling;
  worker.terminate();
  // Unmapped code would end this process when the call comes back.
  await new Promise((resolve) => setTimeout(resolve, 600));
});

/** An image that a test closes at its end. */
function open<const S extends Deno.ForeignLibraryInterface>(
  thunks: readonly Thunk[],
  symbols: S,
): Disposable & { readonly symbols: Deno.StaticForeignLibraryInterface<S> } {
  const path = loadImage(buildImage(thunks, Deno.build.arch, ERRNO_LOCATION));
  const library = Deno.dlopen(path, symbols);
  return { symbols: library.symbols, [Symbol.dispose]: () => library.close() };
}

async function runProbe(prefix: readonly string[], allow = "--allow-ffi"): Promise<string> {
  const probe = new URL("thunks_probe.ts", import.meta.url).pathname;
  const words = [...prefix, Deno.execPath(), "run", "--no-config", allow, probe];
  const [command, ...args] = words;
  const { stdout, stderr } = await new Deno.Command(command!, { args }).output();
  return new TextDecoder().decode(stdout) || new TextDecoder().decode(stderr);
}

function addressOf(pointer: Deno.PointerValue): bigint {
  return Deno.UnsafePointer.value(pointer);
}

/** What thunk_target.c's mixN returns. */
function mix(values: readonly bigint[]): bigint {
  const step = (mixed: bigint, value: bigint) =>
    BigInt.asUintN(64, mixed * 0x9e3779b97f4a7c15n + value);
  return values.reduce(step, BigInt(values.length));
}

function errnoOfMix(values: readonly bigint[]): number {
  const mixed = mix(values);
  return mixed & 1n ? Number(mixed & 0xffn) : 0;
}

function random64(seed: bigint, index: bigint): bigint {
  return BigInt.asUintN(64, mix([seed, index, 1n]) ^ mix([index, seed]) >> 7n);
}

Deno.test("loadImage() leaves no descriptor when the image is for another architecture", () => {
  const other = Deno.build.arch === "x86_64" ? "aarch64" : "x86_64";
  const descriptors = (): number => [...Deno.readDirSync("/proc/self/fd")].length;
  const before = descriptors();
  const error = assertThrows(() => loadImage(buildImage([], other, 0n)), ThunksUnavailable);
  assertInstanceOf(error.cause, Error);
  assertEquals(descriptors(), before);
});

Deno.test("loadImage() gives its memory to no program that is started", async () => {
  loadImage(buildImage([], Deno.build.arch as "x86_64" | "aarch64", 0n));
  const { stdout } = await new Deno.Command("ls", { args: ["-l", "/proc/self/fd"] }).output();
  const open = new TextDecoder().decode(stdout);
  assertStringIncludes(open, "pipe:");
  assertEquals(open.match(/memfd:\S+/), null);
});

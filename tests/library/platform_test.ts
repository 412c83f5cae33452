// Where the library cannot work: it can be imported there, and says on first use why it does not work.

import { assertEquals, assertStringIncludes } from "@std/assert";
import denoJson from "../../deno.json" with { type: "json" };
import { installCommands, osRelease, textOf } from "../../ffi/library/remedy.ts";
import { libc } from "../../ffi/libc.ts";
import { faultOf, LOWEST_DENO } from "../../ffi/platform.ts";
import { compileC } from "../c/compile.ts";
import { outputOf } from "../subprocess.ts";

const LINUX = { os: "linux", arch: "x86_64", env: "gnu" } as const;
const EXPORTS = Object.values(denoJson.exports)
  .map((path) => import.meta.resolve(`../../${path}`));

/** Imports every export, and then says how the first use of the library and of the C library end. */
const FIRST_USE = `
  for (const url of ${JSON.stringify(EXPORTS)}) await import(url);
  console.log("imported");
  const { Context, Gid, listDevices } = await import(MOD);
  const { errnoDescription } = await import(FFI/errno);
  console.log(Gid.parse("::1").toString());
  for (const use of [() => listDevices(), () => Context.open(), () => errnoDescription(1)]) {
    try {
      use();
      console.log("works");
    } catch (error) {
      console.log(error.name + ": " + error.message);
    }
  }`;

/** What {@linkcode FIRST_USE} prints where something of Deno is different. */
async function firstUse(different: string): Promise<string[]> {
  return (await outputOf(`${different}\n${FIRST_USE}`, { importMap: true })).split("\n");
}

Deno.test("On musl everything can be imported, and the first use throws NotSupported", async () => {
  const [imported, gid, ...uses] = await firstUse(`Deno.build = { ...Deno.build, env: "musl" };`);
  assertEquals([imported, gid], ["imported", "::1"]);
  assertEquals(uses.length, 3);
  const reason = "a Deno that is built for musl is not supported, only";
  for (const use of uses) {
    assertStringIncludes(use, `NotSupported: Cannot open libibverbs: ${reason}`);
  }
});

Deno.test("With a Deno of a package everything can be imported, and the first use says that it needs Deno", async () => {
  const others = ["{}", `{ build: { os: "linux" }, version: { deno: "1.40.0" }, env: {} }`];
  for (const other of others) {
    const [imported, gid, ...uses] = await firstUse(
      `Object.defineProperty(globalThis, "Deno", { value: ${other} });`,
    );
    assertEquals([imported, gid], ["imported", "::1"]);
    const words = "Error: Cannot open libibverbs: @rdma/ibverbs calls it by the FFI of Deno.";
    assertEquals(uses.length, 3);
    for (const use of uses) assertStringIncludes(use, words);
  }
});

Deno.test("By an older Deno everything can be imported, and the first use names the lowest version", async () => {
  const [imported, gid, ...uses] = await firstUse(
    `Deno.version = { ...Deno.version, deno: "2.7.11" };`,
  );
  assertEquals([imported, gid], ["imported", "::1"]);
  const reason = `Deno 2.7.11 is not supported, only ${LOWEST_DENO} and newer are`;
  assertEquals(
    uses,
    Array(3).fill(`NotSupported: Cannot open libibverbs: ${reason}; run "deno upgrade"`),
  );
});

Deno.test("Without libibverbs the first use throws NotFound with each path, its reason and the remedy", async () => {
  // The loader itself says what it does not find.
  const [imported, gid, ...uses] = await firstUse(`
    const { dlopen } = Deno;
    Deno.dlopen = (path, symbols) => {
      try {
        return dlopen(path.replace("libibverbs", "libabsent"), symbols);
      } catch (error) {
        throw new Error(error.message.replaceAll("libabsent", "libibverbs"));
      }
    };`);
  assertEquals([imported, gid], ["imported", "::1"]);
  const text = uses.join("\n");
  assertEquals(text.match(/NotFound: Cannot open libibverbs, tried:\n/g)?.length, 2);
  const folders = ["", "/usr/lib64/", "/lib64/", "/usr/lib/", "/usr/local/lib/"];
  for (const folder of folders) assertStringIncludes(text, `\n  ${folder}libibverbs.so.1: `);
  assertStringIncludes(text, "libibverbs.so.1: libibverbs.so.1: cannot open shared object file");
  assertStringIncludes(text, " and allow reading it (--allow-env=IBVERBS_LIBRARY)");
  assertStringIncludes(text, "apt-get install libibverbs1 ibverbs-providers");
  assertEquals(uses.at(-1), "works");
});

// It stays open.
libc();

Deno.test("The remedy is the command of the distribution, or of all that are known", () => {
  for (
    const [text, command] of [
      ["NAME=x\nID=debian\n", "apt-get install libibverbs1 ibverbs-providers"],
      ['ID=pop\nID_LIKE="ubuntu debian"\n', "apt-get install libibverbs1 ibverbs-providers"],
      ["ID=fedora\n", "dnf install libibverbs"],
      ['ID="rocky"\nID_LIKE="rhel centos fedora"\n', "dnf install libibverbs"],
      ['ID="opensuse-leap"\nID_LIKE="suse opensuse"\n', "zypper install libibverbs"],
      ["ID=arch\nVARIANT_ID=debian\n", "pacman -S rdma-core"],
    ] as const
  ) {
    assertEquals(installCommands(text), `"${command}"`);
  }
  for (
    const [text, command] of [
      ['ID=debian\nVERSION_ID="12"\n', "apt-get install librdmacm1"],
      ['ID=debian\nVERSION_ID="13"\n', "apt-get install librdmacm1t64"],
      ["NAME=sid\nID=debian\n", "apt-get install librdmacm1t64"],
      ['ID=ubuntu\nVERSION_ID="22.04"\n', "apt-get install librdmacm1"],
      ['ID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"\n', "apt-get install librdmacm1t64"],
      ["ID=fedora\nVERSION_ID=12\n", "dnf install librdmacm"],
    ] as const
  ) {
    assertEquals(installCommands(text, "librdmacm"), `"${command}"`);
  }
  assertEquals(installCommands("ID=debian\n", "libefa"), '"apt-get install ibverbs-providers"');
  assertEquals(installCommands("ID=sles\n", "libefa"), '"zypper install libefa1"');
  const all = installCommands("ID=archipelago\nVERSION=debian\n");
  assertEquals(all.match(/install|pacman/g)?.length, 4);
  assertEquals(osRelease(), Deno.readTextFileSync("/etc/os-release"));
  assertEquals(textOf("/nowhere"), "");
});

Deno.test("The functions of the loader come from libdl.so.2 where libc.so.6 lacks them", async () => {
  const script = `
    import { hasSymbol } from FFI/library/discovery;
    import { errnoDescription } from FFI/errno;
    const { dlopen } = Deno;
    const opened = [];
    Deno.dlopen = (path, definitions) => {
      opened.push(path);
      const library = dlopen(path, definitions);
      if (path !== "libc.so.6" || !IS_OLD) return library;
      return { symbols: { ...library.symbols, dlopen: null, dlsym: null } };
    };
    console.log(hasSymbol("ibv_open_device"), hasSymbol("ibv_no_such"), errnoDescription(22));
    console.log(opened.filter((path) => /libc|libdl/.test(path)).join());
    console.log(dlopen("libc.so.6", { dlopen: { type: "pointer", optional: true } }).symbols.dlopen === null);`;
  for (const isOld of ["false", "true"]) {
    const [found, libraries, isHostOld] = (await outputOf(script.replace("IS_OLD", isOld)))
      .split("\n");
    assertEquals(found, "true false Invalid argument");
    const both = isOld === "true" || isHostOld === "true";
    assertEquals(libraries, both ? "libc.so.6,libdl.so.2" : "libc.so.6");
  }
});

Deno.test("A libibverbs that needs musl is refused by NotSupported", async () => {
  const shared = ["-shared", "-fPIC"];
  const musl = `libc.musl-${Deno.build.arch}.so.1`;
  const libc = await compileC("old_ibverbs.c", [...shared, `-Wl,-soname,${musl}`]);
  const library = await compileC("old_ibverbs.c", [...shared, "-Wl,--no-as-needed", libc]);
  const [, , use] = await firstUse(`Deno.env.set("IBVERBS_LIBRARY", ${JSON.stringify(library)});`);
  const reason = "it is built for musl, which is not supported, only glibc is, tried:";
  assertEquals(use, `NotSupported: Cannot open libibverbs: ${reason}`);
});

Deno.test("faultOf() names the system and the architecture when they are not supported", () => {
  for (
    const [build, name] of [
      [{ os: "darwin", arch: "aarch64" }, "darwin on aarch64"],
      [{ os: "windows", arch: "x86_64", env: "msvc" }, "windows on x86_64"],
      [{ ...LINUX, arch: "riscv64" }, "linux on riscv64"],
    ] as const
  ) {
    const fault = faultOf(build as unknown as typeof Deno.build, "2.9.6");
    assertEquals(fault, `${name} is not supported, only Linux on x86_64 and aarch64 is`);
  }
  assertEquals(faultOf({ ...LINUX, arch: "aarch64" }, "2.9.6"), undefined);
});

Deno.test("faultOf() compares versions by their numbers", () => {
  const isRefused = (version: string): boolean => faultOf(LINUX, version) !== undefined;
  const refused = ["1.46.3", "2.0.0", "2.7.11", "2.7.11+0a1b2c3", "2.6.14"];
  const taken = [LOWEST_DENO, "2.7.14", "2.8.0-rc.0", "2.10.0", "3.0.0", "2.9.6+0a1b2c3"];
  assertEquals(refused.filter((version) => !isRefused(version)), []);
  assertEquals(taken.filter(isRefused), []);
});

Deno.test("Deno keeps the buffer of a call on another thread until the call ends", async () => {
  // Deno before 2.7.6 frees it, and the call overwrites what comes to its place.
  const library = Deno.dlopen("libc.so.6", {
    pipe: { parameters: ["buffer"], result: "i32" },
    read: { parameters: ["i32", "buffer", "usize"], result: "isize", nonblocking: true },
    write: { parameters: ["i32", "buffer", "usize"], result: "isize" },
    close: { parameters: ["i32"], result: "i32" },
  });
  const { pipe, read, write, close } = library.symbols;
  const size = 60_000;
  const [from, to] = ((ends) => (pipe(ends), ends))(new Int32Array(2)) as unknown as [
    number,
    number,
  ];
  const reading = read(from, new Uint8Array(size), BigInt(size));
  for (let i = 0; i < 5; i++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    (globalThis as { gc?: () => void }).gc!();
  }
  const others = Array.from({ length: 200 }, () => new Uint8Array(size));
  write(to, new Uint8Array(size).fill(7), BigInt(size));
  assertEquals(await reading, BigInt(size));
  assertEquals(others.filter((other) => other.includes(7)).length, 0);
  close(from);
  close(to);
  library.close();
});

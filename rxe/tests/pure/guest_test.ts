// The parts of a guest's run that need no guest.
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { asset } from "../../asset.ts";
import { denoDir, guestEnvironment } from "../../guest/environment.ts";
import { lostFiles, lostText } from "../../guest/lost.ts";
import { Interruption } from "../../guest/interruption.ts";
import { assignments } from "../../guest/initramfs.ts";
import { ensureGuest, type System } from "../../guest/parts.ts";
import { Progress } from "../../guest/progress.ts";
import { accelerators, processorsOfEach } from "../../guest/qemu.ts";
import { Copy, Held, lines, Prefixed, Tail } from "../../guest/streams.ts";
import { cacheFolder } from "../../host/paths.ts";
import { SetupError } from "../../host/report.ts";
import { quote } from "../../host/shell.ts";
import { programs } from "./programs.ts";
import { Timers } from "./timers.ts";

const encoder = new TextEncoder();

Deno.test("lostFiles() leaves out temporary files, but not those of the command's folder", () => {
  const paths = ["/tmp/project/b", "/tmp/x", "/var/log/y", "/etc/z", "/tmp/project/.cache/c"];
  assertEquals(lostFiles(paths, "/tmp/project", ["/tmp/project/.cache"]), [
    "/etc/z",
    "/tmp/project/b",
  ]);
});

Deno.test("lostText() names a few files from the command's folder, and counts the others", () => {
  assertEquals(lostText([], "/p"), undefined);
  const many = ["/p/a", "/p/b", "/p/c", "/p/d", "/q/e", "/q/f", "/q/g"];
  assertEquals(
    lostText(many, "/p"),
    "guest: changes to a, b, c, d, /q/e and 2 more went with the guest; --share keeps a folder",
  );
  assertEquals(
    lostText(["/p/a"], "/p"),
    "guest: a change to a went with the guest; --share keeps a folder",
  );
});

Deno.test("Prefixed puts a name before each line when lines and characters come in pieces", async () => {
  let text = "";
  const decoder = new TextDecoder();
  const prefixed = new Prefixed({
    write: (bytes) => {
      text += decoder.decode(bytes.subarray(0, 3), { stream: true });
      return Promise.resolve(Math.min(3, bytes.length));
    },
  }, "host1: ");
  const bytes = encoder.encode("one\nzwölf\n\nend");
  for (const byte of bytes) await prefixed.write(Uint8Array.of(byte));
  assertEquals(text, "host1: one\nhost1: zwölf\nhost1: \n");
  await prefixed.end();
  await prefixed.end();
  assertEquals(text, "host1: one\nhost1: zwölf\nhost1: \nhost1: end\n");
});

Deno.test("Interruption listens to three signals while it lives", async () => {
  const { addSignalListener, removeSignalListener } = Deno;
  const listeners = new Map<string, () => void>();
  Deno.addSignalListener = (signal, listener) => void listeners.set(signal, listener);
  Deno.removeSignalListener = (signal, listener) => {
    if (listeners.get(signal) === listener) listeners.delete(signal);
  };
  try {
    for (const [i, status] of [130, 143, 129].entries()) {
      const interruption = new Interruption();
      assertEquals([...listeners.keys()], ["SIGINT", "SIGTERM", "SIGHUP"]);
      [...listeners.values()][i]!();
      assertEquals(await interruption.status, status);
      interruption[Symbol.dispose]();
      assertEquals(listeners.size, 0);
    }
  } finally {
    Object.assign(Deno, { addSignalListener, removeSignalListener });
  }
});

Deno.test("asset() reads a file of the package, and says which one it cannot read", async () => {
  const script = new TextDecoder().decode(await asset("guest/init.sh"));
  assertEquals(script.startsWith("#!/bin/busybox sh\n"), true);
  await assertRejects(() => asset("guest/none.sh"), SetupError, "rxe/guest/none.sh: ");
  const files = { "guest/init.sh": "packed" };
  assertEquals(new TextDecoder().decode(await asset("guest/init.sh", files)), "packed");
});

Deno.test("processorsOfEach() gives guests no more processors than the host has, and at most two", () => {
  assertEquals(
    [[1, 1], [1, 8], [2, 1], [2, 2], [2, 4], [4, 7]].map(([guests, processors]) =>
      processorsOfEach(guests!, processors)
    ),
    [1, 2, 1, 1, 2, 1],
  );
});

const CPUS: readonly (readonly [cpuinfo: string, kvm: boolean])[] = [
  ["flags\t\t: fpu vmx sse\n", true],
  ["model\t: x\nflags: fpu sse svm\nbugs\t:\n", true],
  ["flags\t\t: fpu vmmcall sse\n", false],
  ["vmx flags\t: vnmi vmx sse\n", false],
];

Deno.test("accelerators() tries kvm first when it is usable and the processor has virtualization", () => {
  for (const [cpuinfo, kvm] of CPUS) {
    assertEquals(accelerators(cpuinfo, true), kvm ? ["kvm", "tcg"] : ["tcg"]);
    assertEquals(accelerators(cpuinfo, false), ["tcg"]);
  }
});

Deno.test("assignments() gives the shell the very values when they hold quotes and line ends", async () => {
  const value = `it's "$HOME" \\ two\nlines`;
  const script = `${assignments({ VALUE: value })}printf %s "$VALUE"`;
  const { stdout } = await new Deno.Command("sh", { args: ["-c", script] }).output();
  assertEquals(new TextDecoder().decode(stdout), value);
});

Deno.test("quote() refuses what no program can get", () => {
  for (const text of ["a\0b", "\ud800"]) {
    assertThrows(() => quote(text), SetupError, `Cannot pass on ${JSON.stringify(text)}: it has`);
  }
});

function streamOf(...pieces: string[]): ReadableStream<Uint8Array<ArrayBuffer>> {
  return ReadableStream.from(pieces.map((piece) => new TextEncoder().encode(piece)));
}

Deno.test("lines() joins what arrives in pieces", async () => {
  const found = await Array.fromAsync(lines(streamOf("rea", "dy\nexit 0 1", " 2\nen")));
  assertEquals(found, ["ready", "exit 0 1 2"]);
  const bytes = [...encoder.encode("lost /ö\n")].map((byte) => Uint8Array.of(byte));
  assertEquals(await Array.fromAsync(lines(ReadableStream.from(bytes))), ["lost /ö"]);
});

Deno.test("Copy.reached() waits for all bytes, and Held keeps them until it is released", async () => {
  let shown = "";
  const sink = {
    write: (bytes: Uint8Array): Promise<number> => {
      const taken = bytes.subarray(0, 2);
      shown += new TextDecoder().decode(taken);
      return Promise.resolve(taken.length);
    },
  };
  const copy = new Copy(streamOf("abcde", "fg"), sink);
  await copy.reached(7);
  await copy.reached(7);
  assertEquals(shown, "abcdefg");
  const held = new Held();
  await new Copy(streamOf("hij", "k"), held).reached(4);
  const reused = new TextEncoder().encode("l");
  assertEquals(await held.write(reused), 1);
  reused.fill(0);
  assertEquals(shown, "abcdefg");
  await held.release(sink);
  await held.write(new TextEncoder().encode("m"));
  assertEquals(shown, "abcdefghijklm");
});

Deno.test("Tail keeps the end of a text, without carriage returns", async () => {
  const letters = [...new TextEncoder().encode("1\r\nö\r\nabc")].map((byte) => Uint8Array.of(byte));
  const tail = new Tail(ReadableStream.from(letters), 6);
  await tail.ended;
  assertEquals(tail.text, "\nö\nabc");
  const short = new Tail(streamOf("ab"), 6);
  await short.ended;
  assertEquals(short.text, "ab");
  await new Tail(ReadableStream.from(failing()), 6).ended;
});

async function* failing(): AsyncGenerator<Uint8Array> {
  yield await Promise.reject(new Error("the stream is broken"));
}

Deno.test("Progress says every five seconds what takes longer than two", async () => {
  await using ran = await programs({});
  using timers = new Timers();
  const { now } = performance;
  let seconds = 100;
  performance.now = () => 1000 * seconds;
  try {
    const progress = new Progress("one");
    assertEquals(timers.open, [2000]);
    seconds += 2;
    timers.end();
    progress.enter("two");
    seconds += 5.4;
    assertEquals(timers.open, [5000]);
    timers.end();
    progress.finish("the end");
    assertEquals(ran.said(), "guest: one, 2 s\nguest: two, 7 s\nguest: the end after 7 s\n");
    const short = new Progress("five", 1);
    timers.end();
    assertEquals(timers.open, []);
    short[Symbol.dispose]();
    const quick = new Progress("three");
    quick.finish("at once");
    new Progress("four")[Symbol.dispose]();
    assertEquals({ said: ran.said().includes("at once"), open: timers.open }, {
      said: false,
      open: [],
    });
  } finally {
    performance.now = now;
  }
});

/** Runs with these variables of the environment and no others. */
function withVariables<T>(variables: Record<string, string>, use: () => T): T {
  const { env } = Deno;
  const other = { get: (name: string) => variables[name], toObject: () => variables };
  Object.defineProperty(Deno, "env", { value: other, configurable: true });
  try {
    return use();
  } finally {
    Object.defineProperty(Deno, "env", { value: env, configurable: true });
  }
}

Deno.test("guestEnvironment() passes on variables of this library, and a few others", () => {
  const passed = { IBVERBS_X: "1", JSR_URL: "u", NO_COLOR: "1", TERM: "t", LANG: "C" };
  const others = { MY_IBVERBS_X: "2", LANGUAGE: "l", XTERM: "x", DENO_DIR: "/deno", HOME: "/h" };
  assertEquals(withVariables({ ...passed, ...others }, guestEnvironment), {
    ...passed,
    DENO: Deno.execPath(),
    DENO_DIR: "/deno",
    DENO_NO_UPDATE_CHECK: "1",
    HOME: "/run/home",
    IBVERBS_GUEST: "1",
  });
});

Deno.test("caches are in the user's folder unless variables name others", () => {
  const folders = (variables: Record<string, string>): string[] =>
    withVariables(variables, () => [denoDir(), cacheFolder()]);
  assertEquals(folders({}), ["/root/.cache/deno", "/root/.cache/ibverbs"]);
  assertEquals(folders({ HOME: "/h" }), ["/h/.cache/deno", "/h/.cache/ibverbs"]);
  assertEquals(folders({ HOME: "/h", XDG_CACHE_HOME: "/c" }), ["/c/deno", "/c/ibverbs"]);
  assertEquals(folders({ DENO_DIR: "/d", IBVERBS_CACHE: "/i" }), ["/d", "/i"]);
  assertEquals(folders({ DENO_DIR: "d", IBVERBS_CACHE: "i" }), [
    `${Deno.cwd()}/d`,
    `${Deno.cwd()}/i`,
  ]);
  assertEquals(folders({ HOME: "/h", DENO_DIR: "", IBVERBS_CACHE: "" }), folders({ HOME: "/h" }));
});

Deno.test("ensureGuest() says which kernels and userlands there are, before anything is set up", async () => {
  await using ran = await programs({ "apt-get": "", "apt-cache": "" });
  const refused = (system: unknown): Promise<unknown> => ensureGuest(system as System);
  await assertRejects(
    () => refused({ kernel: "5.10", userland: "sid" }),
    SetupError,
    'There is no kernel "5.10", only 6.1, 6.12, 7.3',
  );
  await assertRejects(
    () => refused({ userland: "toString" }),
    SetupError,
    'There is no userland "toString", only 11, 12, 13, sid',
  );
  assertEquals(ran.calls(), []);
});

Deno.test("ensureGuest() says which hosts it needs", async () => {
  const { build, statSync } = Deno;
  const on = (arch: string, os: string): Promise<unknown> => {
    Object.defineProperty(Deno, "build", { value: { arch, os }, configurable: true });
    return ensureGuest();
  };
  Deno.statSync = ((path: string) => {
    if (path !== "/usr/bin/apt-get") return statSync(path);
    throw new Deno.errors.NotFound();
  }) as typeof statSync;
  try {
    const needs = "Cannot start the guest: it needs Linux on x86_64, this is ";
    await assertRejects(() => on("aarch64", "linux"), SetupError, `${needs}linux on aarch64`);
    await assertRejects(() => on("x86_64", "darwin"), SetupError, `${needs}darwin on x86_64`);
    const apt = "Cannot start the guest: its kernel comes from Debian's packages by apt-get";
    await assertRejects(() => on("x86_64", "linux"), SetupError, apt);
  } finally {
    Deno.statSync = statSync;
    Object.defineProperty(Deno, "build", { value: build, configurable: true });
  }
});

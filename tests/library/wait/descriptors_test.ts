// Waiting for descriptors: one epoll for all of them, on one thread.
import { assert, assertEquals, assertThrows } from "@std/assert";
import { stub } from "@std/testing/mock";
import { constants } from "node:os";
import { descriptorErrno } from "../../../ffi/host.ts";
import { libc } from "../../../ffi/libc.ts";
import { openWaiting } from "../../../ffi/opened_later.ts";
import { SystemError } from "../../../ffi/system_error.ts";
import type { Need, Sleep } from "../../../wait/bell.ts";
import {
  Descriptors,
  setNonblocking,
  settled,
  watchDescriptor,
} from "../../../wait/descriptors.ts";
import { outputOf } from "../../subprocess.ts";
import { Time } from "../../time.ts";

const { symbols: C } = Deno.dlopen("libc.so.6", {
  pipe: { parameters: ["buffer"], result: "i32" },
  fcntl: { parameters: ["i32", "i32", "i32"], result: "i32" },
  dup: { parameters: ["i32"], result: "i32" },
});
const F_GETFL = 3;
const F_SETFL = 4;
const O_APPEND = 0o2000;
const O_NONBLOCK = 0o4000;

// Opened here, not in a test: what is opened once stays open.
watchDescriptor(0, "held", () => {}).cancel();
await settled();
openWaiting();

function eventfd(): number {
  const fd = libc().eventfd(0, O_NONBLOCK);
  assert(fd >= 0);
  return fd;
}

function pipe(): [number, number] {
  const fds = new Int32Array(2);
  assertEquals(C.pipe(fds), 0);
  return [fds[0]!, fds[1]!];
}

function signal(fd: number): void {
  libc().write(fd, BigUint64Array.of(1n), 8n);
}

function empty(fd: number): void {
  libc().read(fd, new BigUint64Array(1), 8n);
}

function close(...fds: number[]): void {
  for (const fd of fds) libc().close(fd);
}

function descriptors(): number {
  return [...Deno.readDirSync("/proc/self/fd")].length;
}

type Watch = (fd: number, need: Need, wake: (error?: unknown) => void) => Sleep;

/** A wait as a promise. */
function wait(
  fd: number,
  need: Need = "held",
  watch: Watch = watchDescriptor,
): Sleep & { readonly ready: Promise<void> } {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const sleep = watch(fd, need, (error) => error === undefined ? resolve() : reject(error));
  return { ...sleep, ready: promise };
}

/** What waits, and how many rounds it has made. */
function counted(keepsOpen = true): { all: Descriptors; watch: Watch; rounds: () => number } {
  let rounds = 0;
  const all = new Descriptors((...args) => {
    rounds++;
    return libc().epoll_wait(...args);
  }, keepsOpen);
  const watch: Watch = (fd, need, wake) => all.watch(fd, need, wake);
  return { all, watch, rounds: () => rounds };
}

/** What a promise does by the time that others had their turns, and a file was read by another thread. */
async function stateOf(promise: Promise<unknown>): Promise<"settled" | "pending"> {
  let state: "settled" | "pending" = "pending";
  promise.then(() => state = "settled", () => state = "settled");
  for (let i = 0; i < 3; i++) await Deno.readTextFile("/proc/self/comm");
  return state;
}

Deno.test("watchDescriptor() calls back when the descriptor becomes readable, soon if it is already", async () => {
  const fd = eventfd();
  const { ready } = wait(fd);
  assertEquals(await stateOf(ready), "pending");
  signal(fd);
  await ready;
  await wait(fd).ready;
  close(fd);
});

Deno.test("watchDescriptor() calls back once, never at once, and a wait of the callback is waited for", async () => {
  const fd = eventfd();
  signal(fd);
  const calls: string[] = [];
  const again = Promise.withResolvers<void>();
  watchDescriptor(fd, "held", () => {
    calls.push("first");
    watchDescriptor(fd, "held", () => {
      calls.push("second");
      again.resolve();
    });
    calls.push("waits again");
  });
  calls.push("waits");
  await again.promise;
  assertEquals(await stateOf(new Promise(() => {})), "pending");
  assertEquals(calls, ["waits", "first", "waits again", "second"]);
  close(fd);
});

Deno.test("watchDescriptor() calls back when the other end is closed, or the descriptor, so that its reader learns why", async () => {
  const [read, write] = pipe();
  const { ready } = wait(read);
  close(write);
  await ready;
  close(read);
  await wait(read).ready;
});

Deno.test("watchDescriptor() takes a file as always readable, as poll(2) does", async () => {
  using file = await Deno.open(new URL(import.meta.url));
  const fd = Number(
    [...Deno.readDirSync("/proc/self/fd")].map(({ name }) => name)
      .find((name) => isLink(name, "descriptors_test.ts")),
  );
  await wait(fd).ready;
  assert(await file.stat());
});

Deno.test("watchDescriptor() of 300 descriptors leaves the threads of Deno to others, and takes what is ready", async () => {
  const fds = Array.from({ length: 300 }, eventfd);
  const waits = fds.map((fd) => wait(fd));
  assert((await Deno.readTextFile("/proc/self/comm")).length > 0);
  const order: number[] = [];
  waits.forEach(({ ready }, i) => ready.then(() => order.push(i)));
  for (const i of [270, 3, 99]) {
    signal(fds[i]!);
    await waits[i]!.ready;
  }
  assertEquals(order, [270, 3, 99]);
  fds.forEach(signal);
  await Promise.all(waits.map(({ ready }) => ready));
  close(...fds);
});

Deno.test("cancel() ends one wait and leaves the others", async () => {
  const fds = [eventfd(), eventfd()];
  const waits = fds.map((fd) => wait(fd));
  waits[0]!.cancel();
  signal(fds[0]!);
  assertEquals(await stateOf(waits[0]!.ready), "pending");
  signal(fds[1]!);
  await waits[1]!.ready;
  close(...fds);
});

Deno.test("cancel() lets the descriptor be closed at once, and its number be used again", async () => {
  const before = descriptors();
  const fd = eventfd();
  const first = wait(fd);
  await stateOf(first.ready);
  first.cancel();
  close(fd);
  const again = eventfd();
  assertEquals(again, fd);
  const next = wait(again);
  first.cancel();
  first.hold("idle");
  assertEquals(await stateOf(next.ready), "pending");
  signal(again);
  await next.ready;
  assertEquals(await stateOf(first.ready), "pending");
  close(again);
  assertEquals(descriptors(), before);
});

Deno.test("a wait for a descriptor that was closed and whose number is used again goes to the new one", async () => {
  const [read, write] = pipe();
  // The kernel keeps what is open in another place: its registration stays.
  const other = C.dup(read);
  wait(read).cancel();
  close(read);
  const again = eventfd();
  assertEquals(again, read);
  const { ready } = wait(again);
  signal(write);
  assertEquals(await stateOf(ready), "pending");
  signal(again);
  await ready;
  close(again, other, write);
});

Deno.test("waits that come, go and are cancelled end no round, but the last one does", async () => {
  const { all, watch, rounds } = counted();
  const fds = Array.from({ length: 20 }, eventfd);
  const before = descriptors();
  const waits = fds.map((fd) => wait(fd, "held", watch));
  await stateOf(waits[0]!.ready);
  for (const { cancel } of waits.slice(1)) cancel();
  assertEquals(all.pendingRound, undefined);
  for (let i = 0; i < 20; i++) await Deno.readTextFile("/proc/self/comm");
  assertEquals([await stateOf(waits[0]!.ready), rounds()], ["pending", 1]);
  for (let i = 0; i < 5; i++) {
    signal(fds[0]!);
    await waits[0]!.ready;
    empty(fds[0]!);
    waits[0] = wait(fds[0]!, "held", watch);
  }
  assertEquals(rounds(), 6);
  waits[0]!.cancel();
  await all.pendingRound;
  assertEquals(descriptors(), before + 2, "it takes two descriptors of its own");
  assertEquals(rounds(), 6);
  all.end();
  assertEquals(descriptors(), before);
  close(...fds);
});

Deno.test("a wait that comes while a round runs is part of it, beside others that stay", async () => {
  const { all, watch, rounds } = counted();
  const [idle, busy] = [eventfd(), eventfd()];
  const others = wait(idle, "held", watch);
  await stateOf(others.ready);
  for (let i = 0; i < 10; i++) {
    const { ready } = wait(busy, "held", watch);
    signal(busy);
    await ready;
    empty(busy);
  }
  // One for each event, and the one that runs now.
  assertEquals(rounds(), 11);
  others.cancel();
  await all.pendingRound;
  all.end();
  close(idle, busy);
});

Deno.test("a round begins anew after the time of one is over, and after a signal", async () => {
  const results = [0, -1];
  let rounds = 0;
  const all = new Descriptors((...args) => {
    rounds++;
    const result = results.shift();
    return result === undefined ? libc().epoll_wait(...args) : Promise.resolve(result);
  });
  const fd = eventfd();
  const { ready } = wait(fd, "held", (fd, need, wake) => all.watch(fd, need, wake));
  assertEquals(await stateOf(ready), "pending");
  signal(fd);
  await ready;
  assertEquals(rounds, 3);
  all.end();
  close(fd);
});

Deno.test("waits end with SystemError when the system refuses to wait", async () => {
  const all = new Descriptors(() => Promise.resolve(-1));
  const fd = eventfd();
  // A descriptor that is not open.
  using _refused = stub(libc(), "epoll_wait_here", () => libc().close(-1));
  const { ready } = wait(fd, "held", (fd, need, wake) => all.watch(fd, need, wake));
  const error = await ready.catch((error) => error);
  assert(error instanceof SystemError);
  assertEquals([error.call, error.code], ["epoll_wait", "EBADF"]);
  all.end();
  close(fd);
});

Deno.test("a wait ends with SystemError when the system does not register its descriptor", async () => {
  const fd = eventfd();
  const idle = eventfd();
  const other = wait(idle);
  const full = libc().open(new TextEncoder().encode("/dev/full\0"), 1);
  const { ready } = (() => {
    // As if the user had as many registrations as the system allows.
    const refuse = (): number => Number(libc().write(full, BigUint64Array.of(1n), 8n));
    using _refused = stub(libc(), "epoll_ctl", refuse);
    return wait(fd);
  })();
  const error = await ready.catch((error) => error);
  assert(error instanceof SystemError);
  assertEquals([error.call, error.code], ["epoll_ctl", "ENOSPC"]);
  other.cancel();
  await settled();
  close(fd, full, idle);
});

Deno.test("setNonblocking() keeps the other flags of the descriptor, and throws if it is not open", () => {
  const [read, write] = pipe();
  C.fcntl(write, F_SETFL, O_APPEND);
  setNonblocking(write);
  const flags = C.fcntl(write, F_GETFL, 0);
  assertEquals(flags & (O_APPEND | O_NONBLOCK), O_APPEND | O_NONBLOCK);
  close(read, write);
  const error = assertThrows(() => setNonblocking(write), SystemError, "fcntl() fails with EBADF");
  assertEquals([error.call, error.errno, error.code], ["fcntl", 9, "EBADF"]);
});

Deno.test("a wait keeps the process alive, and its end lets it go", async () => {
  const script = `
    import { watchDescriptor } from WAIT/descriptors;
    import { libc } from FFI/libc;
    const fd = libc().eventfd(0, 0);
    watchDescriptor(fd, "held", () => console.log("ready"));
    const timer = setTimeout(() => libc().write(fd, BigUint64Array.of(1n), 8n), 50);
    Deno.unrefTimer(timer);`;
  assertEquals(await outputOf(script), "ready");
});

Deno.test("pendingRound ends when the round that nobody needs any more has ended", async () => {
  const round = Promise.withResolvers<number>();
  const all = new Descriptors(() => round.promise);
  const fd = eventfd();
  const { cancel } = wait(fd, "held", (fd, need, wake) => all.watch(fd, need, wake));
  assertEquals(all.pendingRound, undefined);
  cancel();
  const pending = all.pendingRound;
  assert(pending !== undefined);
  assertEquals(await stateOf(pending), "pending");
  round.resolve(0);
  await pending;
  assertEquals(all.pendingRound, undefined);
  all.end();
  close(fd);
});

function isLink(name: string, text: string): boolean {
  try {
    return Deno.readLinkSync(`/proc/self/fd/${name}`).includes(text);
  } catch (error) {
    // It was that of the folder.
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** The descriptors that are eventfds or epolls. */
function own(): Set<string> {
  const all = [...Deno.readDirSync("/proc/self/fd")].map(({ name }) => name);
  return new Set(all.filter((name) => isLink(name, "[event")));
}

Deno.test("its own descriptors go to no program that is started", async () => {
  const before = own();
  const { all, watch } = counted();
  const { cancel } = wait(0, "prompt", watch);
  const made = [...own().difference(before)];
  assertEquals(made.length, 2);
  for (const fd of made) {
    const [, flags] = /flags:\s+(\d+)/.exec(Deno.readTextFileSync(`/proc/self/fdinfo/${fd}`))!;
    const O_CLOEXEC = 0o2000000;
    assertEquals(parseInt(flags!, 8) & O_CLOEXEC, O_CLOEXEC);
  }
  cancel();
  await all.pendingRound;
  all.end();
});

Deno.test("what does not keep its descriptors open closes them when the last wait ends", async () => {
  const before = own();
  const { all, watch } = counted(false);
  const fd = eventfd();
  for (let i = 0; i < 2; i++) {
    const { cancel } = wait(fd, "held", watch);
    assertEquals(own().difference(before).size, 3);
    cancel();
    await all.pendingRound;
    assertEquals(own().difference(before).size, 1);
  }
  close(fd);
});

Deno.test("what does not keep its descriptors open leaves none for a descriptor that cannot be waited for", () => {
  const before = own();
  const { watch } = counted(false);
  watch(-1, "held", () => {}).cancel();
  assertEquals(own(), before);
});

Deno.test("a wait that is not held ends while others keep the process alive, and can be held later", async () => {
  const [fd, other] = [eventfd(), eventfd()];
  const held = wait(fd, "prompt");
  assertEquals(await stateOf(held.ready), "pending");
  held.hold("held");
  signal(fd);
  await held.ready;
  const checked = wait(other, "idle");
  signal(other);
  // The timer keeps the process alive.
  const timer = setTimeout(() => {}, 60_000);
  await checked.ready;
  clearTimeout(timer);
  close(fd, other);
});

Deno.test("a process ends with waits that are not held, at once when the last held one is let go", async () => {
  const script = `import { watchDescriptor } from WAIT/descriptors;
    import { libc } from FFI/libc;
    const eventfd = () => libc().eventfd(0, 0o4000);
    watchDescriptor(eventfd(), "prompt", () => {});
    const wait = watchDescriptor(eventfd(), "held", () => {});
    setTimeout(() => wait.hold("idle"), 20);
    globalThis.addEventListener("unload", () => console.log("end"));`;
  assertEquals(await outputOf(script), "end");
});

Deno.test("A process that may make no descriptor is told so, and keeps none", () => {
  for (const call of ["eventfd", "epoll_create1"] as const) {
    const before = own();
    using _none = stub(libc(), call, () => -1);
    const all = new Descriptors(() => Promise.reject(new Error("no round")));
    const watch = (): unknown => all.watch(0, "held", () => {});
    assertThrows(watch, SystemError, `Cannot watch descriptor: ${call}() fails`);
    assertEquals(own(), before);
  }
  libc().close(-1); // leaves errno at EBADF
  using _none = stub(libc(), "eventfd", () => -1);
  assertEquals(descriptorErrno(), constants.errno.EBADF);
});

Deno.test("an event that another thread has got is not lost when the last held wait ends before it is delivered", async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  const all = new Descriptors((epoll, events, most) => {
    const count = libc().epoll_wait_here(epoll, events, most, 0);
    return promise.then(() => count);
  });
  const [fd, other] = [eventfd(), eventfd()];
  signal(fd);
  const watch: Watch = (fd, need, wake) => all.watch(fd, need, wake);
  const { ready, hold } = wait(fd, "held", watch);
  hold("prompt");
  resolve(0);
  await ready;
  all.end();
  close(fd, other);
});

Deno.test("a wait that is not held sets a timer only now and then while held ones come and go", async () => {
  using time = new Time();
  const rounds = 160;
  const [fd, quiet] = [eventfd(), eventfd()];
  const { all, watch } = counted();
  watch(quiet, "prompt", () => {});
  for (let i = 0; i < rounds; i++) {
    const held = wait(fd, "held", watch);
    signal(fd);
    await held.ready;
    empty(fd);
    time.pass(1);
  }
  all.end();
  close(fd, quiet);
  assertEquals(time.timers <= rounds / 10, true, `${time.timers} timers`);
});

Deno.test("all that is ready in a round is called, although the first callback begins the next round", async () => {
  let rounds = 0;
  const all = new Descriptors(async (epoll, events, most) => {
    if (rounds++ > 0) {
      // The other thread may write before all callbacks of the last round have run.
      events.fill(0xff);
      return await new Promise<number>(() => {});
    }
    await undefined;
    return libc().epoll_wait_here(epoll, events, most, 0);
  });
  const fds = [eventfd(), eventfd(), eventfd()];
  const called: number[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const fd of fds) signal(fd);
  for (const fd of fds) {
    all.watch(fd, "held", () => {
      all.watch(fd, "held", () => {});
      if (called.push(fd) === fds.length) resolve();
    });
  }
  const timer = setTimeout(resolve, 1000);
  await promise;
  clearTimeout(timer);
  assertEquals([called.toSorted((a, b) => a - b), rounds], [fds, 2]);
  all.end();
  close(...fds);
});

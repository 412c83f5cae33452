// Waiting for descriptors: one poll for all of them, on one thread.
import { assert, assertEquals, assertThrows } from "@std/assert";
import { stub } from "@std/testing/mock";
import { constants } from "node:os";
import { descriptorErrno, FdWatcher, setNonblocking, waitReadable } from "../../ffi/fd_watcher.ts";
import { libc } from "../../ffi/libc.ts";
import { openWaiting } from "../../ffi/seldom.ts";
import { SystemError } from "../../ffi/system_error.ts";
import { outputOf } from "../subprocess.ts";

const { symbols: C } = Deno.dlopen("libc.so.6", {
  pipe: { parameters: ["buffer"], result: "i32" },
  fcntl: { parameters: ["i32", "i32", "i32"], result: "i32" },
});
const F_GETFL = 3;
const F_SETFL = 4;
const O_APPEND = 0o2000;
const O_NONBLOCK = 0o4000;

// Opened here, not in a test, with the watcher's own descriptor: it is never closed.
const first = eventfd();
await waitReadable(first).cancel();
libc().close(first);
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

function descriptors(): number {
  return [...Deno.readDirSync("/proc/self/fd")].length;
}

/** A watcher, and how many polls it has made. */
function counted(keepsEventFd = true): { watcher: FdWatcher; polls: () => number } {
  let polls = 0;
  const watcher = new FdWatcher((...args) => {
    polls++;
    return libc().poll(...args);
  }, keepsEventFd);
  return { watcher, polls: () => polls };
}

/** What a promise does by the time that others had their turns, and a file was read by another thread. */
async function stateOf(promise: Promise<unknown>): Promise<"settled" | "pending"> {
  let state: "settled" | "pending" = "pending";
  promise.then(() => state = "settled", () => state = "settled");
  for (let i = 0; i < 3; i++) await Deno.readTextFile("/proc/self/comm");
  return state;
}

Deno.test("waitReadable() resolves when the descriptor becomes readable, at once if it is already", async () => {
  const fd = eventfd();
  const { ready } = waitReadable(fd);
  assertEquals(await stateOf(ready), "pending");
  signal(fd);
  await ready;
  await waitReadable(fd).ready;
  libc().close(fd);
});

Deno.test("waitReadable() calls back before promises, and what is waited for there is in the next poll", async () => {
  const fd = eventfd();
  const order: string[] = [];
  const again = Promise.withResolvers<void>();
  const onReady = (): void => {
    order.push("called");
    if (order.length === 1) waitReadable(fd, true, onReady);
    else again.resolve();
  };
  const { ready } = waitReadable(fd, true, onReady);
  signal(fd);
  await ready;
  order.push("resolved");
  await again.promise;
  assertEquals(order, ["called", "resolved", "called"]);
  libc().close(fd);
});

Deno.test("waitReadable() resolves when the other end is closed, or the descriptor, so that its reader learns why", async () => {
  const [read, write] = pipe();
  const { ready } = waitReadable(read);
  libc().close(write);
  await ready;
  libc().close(read);
  await waitReadable(read).ready;
});

Deno.test("waitReadable() of 100 descriptors leaves the threads of Deno to others", async () => {
  const fds = Array.from({ length: 100 }, eventfd);
  const waits = fds.map((fd) => waitReadable(fd));
  assert((await Deno.readTextFile("/proc/self/comm")).length > 0);
  const order: number[] = [];
  waits.forEach(({ ready }, i) => ready.then(() => order.push(i)));
  for (const i of [70, 3, 99]) {
    signal(fds[i]!);
    await waits[i]!.ready;
  }
  assertEquals(order, [70, 3, 99]);
  await Promise.all(waits.map((wait) => wait.cancel()));
  for (const fd of fds) libc().close(fd);
});

Deno.test("cancel() ends one wait and leaves the others", async () => {
  const fd = eventfd();
  const other = eventfd();
  const waits = [waitReadable(fd), waitReadable(fd), waitReadable(other)];
  await waits[0]!.cancel();
  await waits[0]!.ready;
  assertEquals(await stateOf(waits[1]!.ready), "pending");
  signal(fd);
  await waits[1]!.ready;
  assertEquals(await stateOf(waits[2]!.ready), "pending");
  await waits[2]!.cancel();
  for (const one of [fd, other]) libc().close(one);
});

Deno.test("cancel() leaves no use of the descriptor: it can be closed and its number used again", async () => {
  const before = descriptors();
  const fd = eventfd();
  const wait = waitReadable(fd);
  await stateOf(wait.ready);
  await wait.cancel();
  libc().close(fd);
  const again = eventfd();
  assertEquals(again, fd);
  const next = waitReadable(again);
  assertEquals(await stateOf(next.ready), "pending");
  await next.cancel();
  libc().close(again);
  assertEquals(descriptors(), before);
});

Deno.test("cancel() does nothing when the wait is over, or was cancelled", async () => {
  const fd = eventfd();
  signal(fd);
  const wait = waitReadable(fd);
  await wait.ready;
  await wait.cancel();
  const cancelled = waitReadable(eventfd());
  const both = [cancelled.cancel(), cancelled.cancel()];
  await Promise.all(both);
  libc().close(fd);
});

Deno.test("waits that come, go and are cancelled make no more polls than they need", async () => {
  const { watcher, polls } = counted();
  const fds = Array.from({ length: 20 }, eventfd);
  const before = descriptors();
  const waits = fds.map((fd) => watcher.wait(fd));
  await stateOf(waits[0]!.ready);
  await Promise.all(waits.slice(1).map((wait) => wait.cancel()));
  for (let i = 0; i < 20; i++) await Deno.readTextFile("/proc/self/comm");
  assertEquals(await stateOf(waits[0]!.ready), "pending");
  // one for the first wait, one when the others had come, one when they had gone
  assert(polls() <= 3, `${polls()} polls`);
  for (let i = 0; i < 5; i++) {
    signal(fds[0]!);
    await waits[0]!.ready;
    libc().read(fds[0]!, new BigUint64Array(1), 8n);
    waits[0] = watcher.wait(fds[0]!);
  }
  assert(polls() <= 9, `${polls()} polls`);
  await waits[0]!.cancel();
  assertEquals(descriptors(), before + 1, "the watcher takes one descriptor");
  for (const fd of fds) libc().close(fd);
});

Deno.test("a wake-up ends one poll, and the polls after it wait until the next one", async () => {
  const polls: { ready: () => number; end: () => void }[] = [];
  const watcher = new FdWatcher((fds, count) => {
    const { promise, resolve } = Promise.withResolvers<number>();
    const ready = (): number => libc().poll_here(fds, count, 0);
    polls.push({ ready, end: () => resolve(ready()) });
    return promise;
  }, false);
  const fd = eventfd();
  const waits = [watcher.wait(fd)];
  for (let round = 0; round < 3; round++) {
    const poll = polls.at(-1)!;
    assertEquals(poll.ready(), 0, `poll ${round} does not wait`);
    waits.push(watcher.wait(fd));
    assertEquals(poll.ready(), 1, `poll ${round} does not see the new wait`);
    poll.end();
    while (polls.at(-1) === poll) await new Promise<void>((resolve) => setImmediate(resolve));
  }
  signal(fd);
  polls.at(-1)!.end();
  await Promise.all(waits.map(({ ready }) => ready));
  assertEquals(polls.length, 4);
  libc().close(fd);
});

Deno.test("a wait that is renewed at once costs no wake-up of others", async () => {
  const { watcher, polls } = counted();
  const [idle, busy] = [eventfd(), eventfd()];
  const others = watcher.wait(idle);
  let wait = watcher.wait(busy);
  await stateOf(others.ready);
  const start = polls();
  for (let i = 0; i < 10; i++) {
    signal(busy);
    await wait.ready;
    libc().read(busy, new BigUint64Array(1), 8n);
    // as many promises as an async iterator may have between one wait and the next
    for (let turn = 0; turn < 20; turn++) await undefined;
    wait = watcher.wait(busy);
  }
  assertEquals(await stateOf(wait.ready), "pending");
  // twice as many if each renewal woke a poll that had begun without it
  assert(polls() - start <= 12, `${polls() - start} polls`);
  await Promise.all([others.cancel(), wait.cancel()]);
  for (const fd of [idle, busy]) libc().close(fd);
});

Deno.test("setNonblocking() keeps the other flags of the descriptor, and throws if it is not open", () => {
  const [read, write] = pipe();
  C.fcntl(write, F_SETFL, O_APPEND);
  setNonblocking(write);
  const flags = C.fcntl(write, F_GETFL, 0);
  assertEquals(flags & (O_APPEND | O_NONBLOCK), O_APPEND | O_NONBLOCK);
  for (const fd of [read, write]) libc().close(fd);
  const error = assertThrows(() => setNonblocking(write), SystemError, "fcntl() fails with EBADF");
  assertEquals([error.call, error.errno, error.code], ["fcntl", 9, "EBADF"]);
});

Deno.test("waitReadable() rejects with SystemError when the system refuses to poll", async () => {
  const script = `
    import { waitReadable } from FFI/fd_watcher;
    import { libc } from FFI/libc;
    const fd = libc().eventfd(0, 0);
    const waits = Array.from({ length: 70 }, () => waitReadable(fd));
    const ended = await Promise.allSettled(waits.map(({ ready }) => ready));
    console.log(...new Set(ended.map(({ reason }) => reason?.code)));`;
  assertEquals(await outputOf(script, { prefix: ["prlimit", "--nofile=64"] }), "EINVAL");
});

Deno.test("a wait keeps the process alive, and its end lets it go", async () => {
  const script = `
    import { waitReadable } from FFI/fd_watcher;
    import { libc } from FFI/libc;
    const fd = libc().eventfd(0, 0);
    waitReadable(fd).ready.then(() => console.log("ready"));
    const timer = setTimeout(() => libc().write(fd, BigUint64Array.of(1n), 8n), 50);
    Deno.unrefTimer(timer);`;
  assertEquals(await outputOf(script), "ready");
});

Deno.test("cancel() waits until the poll that has the descriptor is over", async () => {
  const polls: PromiseWithResolvers<number>[] = [];
  const watcher = new FdWatcher(() => {
    const poll = Promise.withResolvers<number>();
    polls.push(poll);
    return poll.promise;
  });
  const wait = watcher.wait(first);
  let over = false;
  const cancelled = wait.cancel().then(() => over = true);
  await new Promise((done) => setTimeout(done, 5));
  assertEquals([polls.length, over], [1, false]);
  polls[0]!.resolve(0);
  await cancelled;
  assertEquals(over, true);
});

/** The descriptors that are eventfds. */
function eventfds(): Set<string> {
  return new Set([...Deno.readDirSync("/proc/self/fd")].map(({ name }) => name).filter(isEventfd));
}

function isEventfd(name: string): boolean {
  try {
    return Deno.readLinkSync(`/proc/self/fd/${name}`).includes("eventfd");
  } catch (error) {
    // It was that of the folder.
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

Deno.test("The watcher's own descriptor goes to no program that is started", async () => {
  const before = eventfds();
  const poll = Promise.withResolvers<number>();
  const wait = new FdWatcher(() => poll.promise).wait(first);
  const [own, ...others] = eventfds().difference(before);
  assertEquals(others, []);
  const [, flags] = /flags:\s+(\d+)/.exec(Deno.readTextFileSync(`/proc/self/fdinfo/${own}`))!;
  const O_CLOEXEC = 0o2000000;
  assertEquals(parseInt(flags!, 8) & O_CLOEXEC, O_CLOEXEC);
  poll.resolve(0);
  await wait.cancel();
  libc().close(Number(own));
});

Deno.test("a wait that is not held resolves while others keep the process alive, and can be held later", async () => {
  const [fd, other] = [eventfd(), eventfd()];
  const wait = waitReadable(fd, false);
  assertEquals(await stateOf(wait.ready), "pending");
  wait.hold(true);
  signal(fd);
  await wait.ready;
  const glanced = waitReadable(other, false);
  signal(other);
  // The timer keeps the process alive.
  const timer = setTimeout(() => {}, 60_000);
  await glanced.ready;
  clearTimeout(timer);
  const cancelled = waitReadable(eventfd(), false);
  await cancelled.cancel();
  for (const one of [fd, other]) libc().close(one);
});

Deno.test("a process ends with waits that are not held, at once when the last held one is let go", async () => {
  const script = `import { waitReadable } from FFI/fd_watcher;
    import { libc } from FFI/libc;
    const eventfd = () => libc().eventfd(0, 0o4000);
    waitReadable(eventfd(), false);
    const wait = waitReadable(eventfd());
    setTimeout(() => wait.hold(false), 20);
    globalThis.addEventListener("unload", () => console.log("end"));`;
  assertEquals(await outputOf(script), "end");
});

Deno.test("a wait that comes right after a poll does not keep others from being held", async () => {
  const { watcher, polls } = counted(false);
  const [idle, busy] = [eventfd(), eventfd()];
  const waits = [watcher.wait(idle, false)];
  signal(busy);
  await watcher.wait(busy).ready;
  // The poll that has just ended sees nothing of this one.
  waits.push(watcher.wait(busy, false));
  libc().read(busy, new BigUint64Array(1), 8n);
  const turns = async (): Promise<void> => {
    for (let i = 0; i < 3; i++) await new Promise<void>((resolve) => setImmediate(resolve));
  };
  await turns();
  const before = polls();
  waits[0]!.hold(true);
  await turns();
  assertEquals(polls(), before + 1, "the wait is not held");
  for (const wait of waits) await wait.cancel();
  for (const fd of [idle, busy]) libc().close(fd);
});

Deno.test("A process that may make no descriptor is told so", () => {
  libc().close(-1); // leaves errno at EBADF
  using _none = stub(libc(), "eventfd", () => -1);
  assertEquals(descriptorErrno(), constants.errno.EBADF);
  const watcher = new FdWatcher(() => Promise.reject(new Error("no poll")));
  assertThrows(() => watcher.wait(0), SystemError, "Cannot watch descriptor: eventfd() fails");
});

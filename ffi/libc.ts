import { type AnyFunction, callThrough, type FunctionPointer } from "./function_pointer.ts";
import { openedLater } from "./opened_later.ts";
import { askForFfi } from "./permission.ts";
import { placesOf } from "./places.ts";
import { checkPlatform } from "./platform.ts";
import { cString } from "./pointers.ts";

/** The C library's functions that the binding calls, each beside its prototype. */
const SYMBOLS = {
  // int memfd_create(const char *name, unsigned int flags);
  memfd_create: { parameters: ["buffer", "u32"], result: "i32" },
  // ssize_t write(int fd, const void *buf, size_t count);
  write: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  // int close(int fd);
  close: { parameters: ["i32"], result: "i32" },
  // int *__errno_location(void);
  __errno_location: { parameters: [], result: "pointer" },
  // void *dlopen(const char *filename, int flags);
  dlopen: { parameters: ["buffer", "i32"], result: "pointer" },
  // void *dlsym(void *handle, const char *symbol);
  dlsym: { parameters: ["pointer", "buffer"], result: "pointer" },
  // void *mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset);
  mmap: { parameters: ["pointer", "usize", "i32", "i32", "i32", "i64"], result: "pointer" },
  // int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr);
  pthread_mutex_init: { parameters: ["u64", "pointer"], result: "i32" },
  // int pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr);
  pthread_cond_init: { parameters: ["u64", "pointer"], result: "i32" },
  // int munmap(void *addr, size_t length);
  munmap: { parameters: ["pointer", "usize"], result: "i32" },
  // int getrlimit(int resource, struct rlimit *rlim): two numbers of 64 bits, the first of which is the limit
  getrlimit: { parameters: ["i32", "buffer"], result: "i32" },
  // int mlock2(const void *addr, size_t length, unsigned int flags);
  mlock2: { parameters: ["pointer", "usize", "u32"], result: "i32" },
  // int open(const char *pathname, int flags): variadic in C, as fcntl is
  open: { parameters: ["buffer", "i32"], result: "i32" },
  // ssize_t read(int fd, void *buf, size_t count);
  read: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  // int eventfd(unsigned int initval, int flags);
  eventfd: { parameters: ["u32", "i32"], result: "i32" },
  // int fcntl(int fd, int op, int arg): variadic in C, which passes integers alike on both architectures
  fcntl: { parameters: ["i32", "i32", "i32"], result: "i32" },
  // int poll(struct pollfd *fds, nfds_t nfds, int timeout);
  poll: { parameters: ["buffer", "u64", "i32"], result: "i32" },
  // int epoll_create1(int flags);
  epoll_create1: { parameters: ["i32"], result: "i32" },
  // int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
  epoll_ctl: { parameters: ["i32", "i32", "i32", "buffer"], result: "i32" },
  // int epoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout);
  epoll_wait: { parameters: ["i32", "buffer", "i32", "i32"], result: "i32", nonblocking: true },
  // the same, on this thread
  epoll_wait_here: {
    name: "epoll_wait",
    parameters: ["i32", "buffer", "i32", "i32"],
    result: "i32",
  },
  // char *if_indextoname(unsigned int ifindex, char *ifname);
  if_indextoname: { parameters: ["u32", "buffer"], result: "pointer" },
  // unsigned int if_nametoindex(const char *ifname);
  if_nametoindex: { parameters: ["buffer"], result: "u32" },
  // char *strerror(int errnum);
  strerror: { parameters: ["i32"], result: "pointer" },
} as const satisfies Deno.ForeignLibraryInterface;

type Libc = Deno.DynamicLibrary<typeof SYMBOLS>["symbols"];

let functions: Libc | undefined;

/**
 * The C library, opened on first use and never closed.
 *
 * @throws {Deno.errors.NotCapable} Without `--allow-ffi` for all paths.
 * @throws {Deno.errors.NotSupported} If the system or Deno is not supported.
 * @throws {Error} Where there is no `libc.so.6`.
 */
export function libc(): Libc {
  return functions ??= open();
}

const NOTHING = new Uint8Array(0);

/** Visits another thread: the call there only fails. It is `undefined` while the C library is not open. */
export function visitThread(): Promise<unknown> | undefined {
  return functions?.epoll_wait(-1, NOTHING, 0, 0);
}

interface CFunction extends Deno.ForeignFunction {
  readonly name?: string;
}

/** Calls go through pointers at first. Deno does not compile those for other threads. */
function open(): Libc {
  checkPlatform();
  askForFfi();
  const rows = Object.entries<CFunction>(SYMBOLS);
  const { path, symbols: own } = openAll("libc.so.6", rows);
  const missing = rows.filter(([key]) => own[key] === null);
  // Before glibc 2.34 the functions of the loader are in a library of their own.
  const found = missing.length === 0 ? own : { ...own, ...openAll("libdl.so.2", missing).symbols };
  const calls = rows.map(([key, row]) => {
    if (row.nonblocking) return [key, found[key]];
    const call = callThrough(found[key] as FunctionPointer, row);
    const open = (): AnyFunction => Deno.dlopen(path, { [key]: row }).symbols[key] as AnyFunction;
    return [key, own[key] === null ? call : openedLater(call, open)];
  });
  return Object.fromEntries(calls);
}

interface Opened {
  readonly path: string;
  /** The functions; null for one that the library lacks. */
  readonly symbols: Readonly<Record<string, unknown>>;
}

function openAll(soname: string, rows: readonly (readonly [string, CFunction])[]): Opened {
  const definitions = Object.fromEntries(rows.map(([key, row]) => [
    key,
    row.nonblocking ? row : { name: row.name ?? key, type: "pointer", optional: true } as const,
  ]));
  const errors: unknown[] = [];
  for (const path of placesOf(soname)) {
    try {
      return { path, symbols: Deno.dlopen(path, definitions).symbols };
    } catch (error) {
      errors.push(error);
    }
  }
  throw errors[0];
}

/** The address of a function of the process, such as one of the C library. */
export function functionAddress(name: string): bigint {
  // RTLD_DEFAULT is NULL.
  return Deno.UnsafePointer.value(libc().dlsym(null, cString(name)));
}

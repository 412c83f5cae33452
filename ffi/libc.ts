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
  // void *dlsym(void *handle, const char *symbol);
  dlsym: { parameters: ["pointer", "buffer"], result: "pointer" },
} as const satisfies Deno.ForeignLibraryInterface;

type Libc = Deno.DynamicLibrary<typeof SYMBOLS>;

let library: Libc | undefined;

/**
 * The C library, opened on first use and never closed.
 *
 * @throws {Deno.errors.NotCapable} Without `--allow-ffi`.
 * @throws {Error} Where there is no `libc.so.6`, or `--allow-ffi` is narrowed to paths.
 */
export function libc(): Libc["symbols"] {
  library ??= Deno.dlopen("libc.so.6", SYMBOLS);
  return library.symbols;
}

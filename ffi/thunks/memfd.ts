import { errnoName, mappedErrno } from "../errno.ts";
import { libc } from "../libc.ts";
import { sonameOf } from "./elf.ts";
import { ThunksUnavailable } from "./unavailable.ts";

// linux/memfd.h
const MFD_CLOEXEC = 0x1;
const MFD_EXEC = 0x10;

// dlfcn.h, alike on both architectures
const RTLD_NOW = 0x2;
const RTLD_NOLOAD = 0x4;

/**
 * Loads an image from memory, without a file.
 *
 * The image stays mapped for good, and its descriptor open: the loader knows a library by its path, so a second image
 * under the same descriptor number would silently be taken for the first. An image that the process has loaded before is
 * used again, so that Workers do not add an image each.
 *
 * @param image What {@linkcode buildImage} returned for this architecture.
 * @returns The path or the SONAME to open it by. A thunk that keeps errno has one parameter more than its C function, last: an `int *`.
 * @throws {ThunksUnavailable} Where the system refuses, with the refusal as `cause`.
 */
export function loadImage(image: Uint8Array<ArrayBuffer>): string {
  const soname = sonameOf(image);
  try {
    return isLoaded(soname) ? soname : loadNew(image);
  } catch (cause) {
    throw new ThunksUnavailable("Cannot open thunks: the system refuses", { cause });
  }
}

function isLoaded(soname: string): boolean {
  const name = new TextEncoder().encode(`${soname}\0`);
  return libc().dlopen(name, RTLD_NOW | RTLD_NOLOAD) !== null;
}

function loadNew(image: Uint8Array<ArrayBuffer>): string {
  const fd = createMemfd();
  try {
    writeAll(fd, image);
    const path = `/proc/self/fd/${fd}`;
    Deno.dlopen(path, {}).close();
    return path;
  } catch (error) {
    libc().close(fd);
    throw error;
  }
}

function createMemfd(): number {
  const name = new TextEncoder().encode("ibverbs-thunks\0");
  const fd = libc().memfd_create(name, MFD_CLOEXEC | MFD_EXEC);
  if (fd >= 0) return fd;
  const code = errnoCode();
  // Linux before 6.3 does not know MFD_EXEC, and needs none.
  if (code !== "EINVAL") throw new Error(`Cannot create a memfd: ${code}`);
  const plain = libc().memfd_create(name, MFD_CLOEXEC);
  if (plain < 0) throw new Error(`Cannot create a memfd: ${errnoCode()}`);
  return plain;
}

function writeAll(fd: number, bytes: Uint8Array<ArrayBuffer>): void {
  for (let done = 0; done < bytes.length;) {
    const written = libc().write(
      fd,
      bytes.subarray(done),
      BigInt(bytes.length - done),
    );
    if (written < 0n) throw new Error(`Cannot write to a memfd: ${errnoCode()}`);
    done += Number(written);
  }
}

// Right after a synchronous call on the same thread, errno is still that call's.
function errnoCode(): string {
  return errnoName(mappedErrno()[0]!);
}

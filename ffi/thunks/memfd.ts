import { mappedErrno } from "../errno.ts";
import { constants } from "../layout.ts";
import { libc } from "../libc.ts";
import { cString } from "../pointers.ts";
import { checkedCall } from "../system_error.ts";
import type { SharedObject } from "./elf.ts";

/**
 * Thrown where thunks cannot run: a memfd that the system refuses or does not let execute, or an `--allow-ffi` narrowed
 * to paths. `cause` says which.
 */
export class ThunksUnavailable extends Error {
  /** The error's name. */
  override readonly name = "ThunksUnavailable";
}

const ACTION = "write thunks";

// linux/memfd.h: many systems have an older one.
const MFD_CLOEXEC = 0x1;
const MFD_EXEC = 0x10;

/**
 * Loads an image from memory, without a file.
 *
 * The image stays mapped forever, and its descriptor open: the loader knows a library by its path, so a second image
 * under the same descriptor number would silently be taken for the first. An image that the process has loaded before
 * is used again, so that Workers do not add an image each.
 *
 * @returns The path or the SONAME to open it by. A thunk that keeps errno has one parameter more than its C function, last: an `int *`.
 * @throws {ThunksUnavailable} Where the system refuses, with the refusal as `cause`.
 */
export function loadImage({ soname, bytes }: SharedObject): string {
  try {
    return isLoaded(soname) ? soname : loadNew(bytes);
  } catch (cause) {
    throw new ThunksUnavailable("Cannot open thunks: the system refuses", { cause });
  }
}

function isLoaded(soname: string): boolean {
  const handle = libc().dlopen(cString(soname), constants.RTLD_NOW | constants.RTLD_NOLOAD);
  return handle !== null && opensByName(soname);
}

/** With a permission broker Deno treats a name as a file of the current folder. */
function opensByName(soname: string): boolean {
  try {
    Deno.dlopen(soname, {}).close();
    return true;
  } catch {
    return false;
  }
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
  const name = cString("ibverbs-thunks");
  const fd = libc().memfd_create(name, MFD_CLOEXEC | MFD_EXEC);
  // Linux before 6.3 does not know MFD_EXEC, and needs none.
  if (fd < 0 && mappedErrno()[0] === constants.EINVAL) {
    return checkedCall(ACTION, "memfd_create", libc().memfd_create(name, MFD_CLOEXEC));
  }
  return checkedCall(ACTION, "memfd_create", fd);
}

function writeAll(fd: number, bytes: Uint8Array<ArrayBuffer>): void {
  for (let done = 0; done < bytes.length;) {
    const rest = bytes.subarray(done);
    done += checkedCall(ACTION, "write", Number(libc().write(fd, rest, BigInt(rest.length))));
  }
}

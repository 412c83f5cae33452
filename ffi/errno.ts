/** errno of the last verb that reports by it, and the system's names for errno values. */

import { functionAddress, libc } from "./libc.ts";

/** Where thunks, and the slow calls in their place, leave errno. */
const cell = new Int32Array(1);
let cellPointer: Deno.PointerObject | undefined;
let threadErrno: Int32Array | undefined;

/** The names of errno values from 1 on, the same on both architectures. glibc gives names only since 2.32. */
const NAMES = (
  "EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT ENOTBLK EBUSY EEXIST " +
  "EXDEV ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK EPIPE EDOM " +
  "ERANGE EDEADLK ENAMETOOLONG ENOLCK ENOSYS ENOTEMPTY ELOOP - ENOMSG EIDRM ECHRNG EL2NSYNC EL3HLT EL3RST ELNRNG " +
  "EUNATCH ENOCSI EL2HLT EBADE EBADR EXFULL ENOANO EBADRQC EBADSLT - EBFONT ENOSTR ENODATA ETIME ENOSR ENONET " +
  "ENOPKG EREMOTE ENOLINK EADV ESRMNT ECOMM EPROTO EMULTIHOP EDOTDOT EBADMSG EOVERFLOW ENOTUNIQ EBADFD EREMCHG " +
  "ELIBACC ELIBBAD ELIBSCN ELIBMAX ELIBEXEC EILSEQ ERESTART ESTRPIPE EUSERS ENOTSOCK EDESTADDRREQ EMSGSIZE " +
  "EPROTOTYPE ENOPROTOOPT EPROTONOSUPPORT ESOCKTNOSUPPORT EOPNOTSUPP EPFNOSUPPORT EAFNOSUPPORT EADDRINUSE " +
  "EADDRNOTAVAIL ENETDOWN ENETUNREACH ENETRESET ECONNABORTED ECONNRESET ENOBUFS EISCONN ENOTCONN ESHUTDOWN " +
  "ETOOMANYREFS ETIMEDOUT ECONNREFUSED EHOSTDOWN EHOSTUNREACH EALREADY EINPROGRESS ESTALE EUCLEAN ENOTNAM ENAVAIL " +
  "EISNAM EREMOTEIO EDQUOT ENOMEDIUM EMEDIUMTYPE ECANCELED ENOKEY EKEYEXPIRED EKEYREVOKED EKEYREJECTED EOWNERDEAD " +
  "ENOTRECOVERABLE ERFKILL EHWPOISON EFTYPE"
).split(" ");

/**
 * The errno of the last verb that reports failures by errno. It is 0 if that verb did not set it.
 *
 * @category Errors
 */
export function errno(): number {
  return cell[0]!;
}

/** Records errno for a call that did not go through a thunk. */
export function setErrno(value: number): void {
  cell[0] = value;
}

/** The cell as the `int *` that thunks take. */
export function errnoCell(): Deno.PointerObject {
  return cellPointer ??= Deno.UnsafePointer.of(cell)!;
}

/** The address of `__errno_location`, for the thunks. */
export function errnoLocation(): bigint {
  return functionAddress("__errno_location");
}

/** errno of this thread as memory: its address never changes, and reading it calls nothing that could overwrite it. */
export function mappedErrno(): Int32Array {
  return threadErrno ??= new Int32Array(
    Deno.UnsafePointerView.getArrayBuffer(libc().__errno_location()!, 4),
  );
}

/**
 * The name of an errno value: 22 gives `"EINVAL"`.
 *
 * @category Errors
 */
export function errnoName(value: number): string {
  const name = NAMES[value - 1] ?? "-";
  return name === "-" ? `errno ${value}` : name;
}

/**
 * The description of an errno value: 22 gives `"Invalid argument"`.
 *
 * @category Errors
 */
export function errnoDescription(value: number): string {
  // Outside Deno this throws, and says why.
  const { strerror } = libc();
  return Deno.UnsafePointerView.getCString(strerror(value)!);
}

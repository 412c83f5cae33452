/** Mutants of ffi: guards, errors, pointers, the watcher of descriptors, and code made at run time. */

import type { MutantsOf } from "../mutant.ts";

export const FFI: readonly MutantsOf[] = [
  {
    file: "ffi/library/ops.ts",
    tests: ["library/provider/guards", "library/ops", "library/bind"],
    mutants: [
      {
        id: "ops-size",
        replace: "isExtended(context) && extendedSize(context) >= size",
        by: "isExtended(context)",
        wrong: "An op is read beyond the end of a short verbs_context.",
      },
      {
        id: "ops-size-strict",
        replace: "extendedSize(context) >= size",
        by: "extendedSize(context) > size",
        wrong: "The first op of a short verbs_context is not used.",
      },
      {
        id: "ops-extended",
        replace: "size === 0n || isExtended(context) &&",
        by: "size === 0n ||",
        wrong: "Memory before a context of the old ABI is read as ops.",
      },
      {
        id: "ops-set",
        replace: "  return readPointer(object, offset) !== 0n;",
        by: "  return readPointer(object, offset) !== -1n;",
        wrong: "An op that is a null pointer is called.",
      },
      {
        id: "ops-context-of",
        replace: "readPointer(object, contextOffset(of))",
        by: "readPointer(object, 0)",
        wrong: "The ops of an object are read through another pointer.",
        tests: ["library/provider/guards", "library/ops", "library/srq/srq", "library/flow/flow"],
      },
      {
        id: "ops-flush",
        replace: 'if (op === "wr_flush" && !hasSymbol(SINCE_WR_FLUSH)) return false;',
        by: "",
        wrong: "A pointer beyond the end of an older ibv_qp_ex is read.",
      },
    ],
  },
  {
    file: "ffi/library/bind.ts",
    tests: ["library/provider/guards", "library/ops", "library/bind"],
    mutants: [
      {
        id: "bind-guard",
        replace: '"op" in row && !row.hot ? guarded(call, row) : call;',
        by: "call;",
        wrong: "An op that the provider lacks is called: a null pointer.",
      },
      {
        id: "bind-compiled",
        replace: "if (left-- === 0) replace(call = compile());",
        by: "",
        wrong: "A verb that is called often is slow for ever.",
        tests: ["library/library"],
      },
      {
        id: "bind-replaced",
        replace: "replace(call = compile());",
        by: "call = compile();",
        wrong: "Each call of a compiled verb goes through one more function.",
        tests: ["library/library"],
      },
      {
        id: "bind-object",
        replace: "hasOp(op, args[object]) ? call",
        by: "hasOp(op, args[0]) ? call",
        wrong: "The guard looks at another argument than the object.",
        tests: ["library/provider/guards", "library/ops", "library/memory/regions"],
      },
      {
        id: "bind-code",
        replace: 'if (fails === "code") return EOPNOTSUPP;',
        by: "",
        wrong: "A missing op of a verb that returns errno has the reason EPERM.",
      },
      {
        id: "bind-errno",
        replace: "  setErrno(EOPNOTSUPP);\n",
        by: "",
        wrong: "A missing op has the reason of an earlier failure.",
      },
      {
        id: "bind-negative",
        replace: "BigInt(-EOPNOTSUPP) : -EOPNOTSUPP",
        by: "BigInt(EOPNOTSUPP) : EOPNOTSUPP",
        wrong: "A missing verb seems to give 95 results.",
        tests: ["library/bind", "library/tables", "library/provider/guards"],
      },
    ],
  },
  {
    file: "ffi/lazily.ts",
    tests: ["library/library"],
    mutants: [
      {
        id: "bind-lazy",
        replace: "        Object.defineProperty(object, name, { value });\n",
        by: "",
        wrong: "A verb is bound again at every use.",
      },
    ],
  },
  {
    file: "ffi/library/slow.ts",
    tests: ["library/library"],
    mutants: [
      {
        id: "slow-errno-cleared",
        replace: "    errno[0] = 0;\n",
        by: "",
        wrong: "A failure without errno has the reason of an earlier one.",
        tests: ["library/library", "library/address_handle/address_handle"],
        thunks: "off",
      },
      {
        id: "slow-errno-kept",
        replace: "    setErrno(errno[0]!);\n",
        by: "",
        wrong: "errno is lost when the next function of C runs.",
        tests: ["library/library"],
        thunks: "off",
      },
      {
        id: "slow-nonblocking",
        replace: "if (value !== null && value !== -1) return { value, errno: 0 };",
        by: "if (value !== null) return { value, errno: 0 };",
        wrong: "A failure on another thread has no reason.",
        tests: [
          "library/address_handle/address_handle",
          "library/address_handle/resolve_eth_l2_from_gid",
        ],
        thunks: "off",
      },
    ],
  },
  {
    file: "ffi/library/fast.ts",
    tests: ["library/library", "library/address_handle/address_handle"],
    mutants: [
      {
        id: "fast-object",
        replace: "const argument = row.object ?? 0;",
        by: "const argument = 0;",
        wrong: "The op of another argument is called.",
        tests: ["library/provider/arguments", "library/memory/regions"],
      },
      {
        id: "fast-six",
        replace: "return (a, b, c, d, e, g) => f(a, b, c, d, e, g, cell);",
        by: "return (a, b, c, d, e, g) => f(a, b, c, d, g, e, cell);",
        wrong: "Two arguments of verbs with six are exchanged.",
        tests: ["library/provider/arguments"],
      },
    ],
  },
  {
    file: "ffi/struct.ts",
    tests: ["pure/struct"],
    mutants: [
      {
        id: "struct-be16",
        replace: "return view.getUint16(at);",
        by: "return view.getUint16(at, true);",
        wrong: "Numbers in network byte order are read in host order.",
      },
      {
        id: "struct-be64-write",
        replace: "return view.setBigUint64(at, BigInt(value));",
        by: "return view.setBigUint64(at, BigInt(value), true);",
        wrong: "Numbers in network byte order are written in host order.",
      },
      {
        id: "struct-native-order",
        replace: "return readAt(copyNative(view, offset), type, 0);",
        by: "return readAt(copyNative(view, offset), type, 1);",
        wrong: "Native numbers in network byte order are read at the wrong place.",
      },
      {
        id: "struct-bytes-base",
        replace: "view.byteOffset + base + field.offset, field.size",
        by: "base + field.offset, field.size",
        wrong: "Bytes of a struct within a buffer are read at the wrong place.",
      },
    ],
  },
  {
    file: "ffi/pointers.ts",
    tests: ["library/pointers"],
    mutants: [
      {
        id: "pointers-null",
        replace: "if (pointer === null) throw new TypeError(`Cannot read pointer",
        by: "if (false) throw new TypeError(`Cannot read pointer",
        wrong: "A list with NULL is read as if it were whole.",
      },
      {
        id: "pointers-stride",
        replace: "view.getPointer(8 * i)",
        by: "view.getPointer(4 * i)",
        wrong: "Pointers are read from halves of pointers.",
      },
    ],
  },
  {
    file: "ffi/native_memory.ts",
    tests: ["library/pointers"],
    mutants: [
      {
        id: "native-pin",
        replace: "  pinned.add(registration);\n",
        by: "",
        wrong: "A buffer is collected while the device may write to it.",
      },
      {
        id: "native-unpin",
        replace: "  pinned.delete(registration);\n",
        by: "",
        wrong: "A buffer is never collected.",
      },
      {
        id: "native-unmap",
        replace: "    libc().munmap(this.#pointer, this.#length);\n",
        by: "",
        wrong: "Memory is never given back.",
      },
      {
        id: "native-detach",
        replace: "    this.buffer.transfer(0);\n",
        by: "",
        wrong: "Freed memory can be read and written.",
      },
      {
        id: "native-failed",
        replace: "if (Deno.UnsafePointer.value(pointer) === MAP_FAILED) {",
        by: "if (false) {",
        wrong: "Memory that there is not is used.",
      },
      {
        id: "native-twice",
        replace: "    if (this.buffer.detached) return;\n",
        by: "",
        wrong: "Memory is given back twice, and another one's with it.",
      },
    ],
  },
  {
    file: "ffi/fd_watcher.ts",
    tests: ["library/fd_watcher", "library/completion/channel"],
    mutants: [
      {
        id: "watcher-wake",
        replace: "    if (this.#looping) this.#wake();\n",
        by: "    if (this.#looping);\n",
        wrong: "A new wait begins up to ten seconds late.",
      },
      {
        id: "watcher-cancel-wake",
        replace: "      wait.resolve();\n      this.#wake();",
        by: "      wait.resolve();",
        wrong: "The end of a wait takes up to ten seconds.",
      },
      {
        id: "watcher-cancel-round",
        replace: "      await this.#round;\n",
        by: "",
        wrong: "A descriptor is closed while it is polled.",
      },
      {
        id: "watcher-drain",
        replace: "    if (this.#woken) this.#drain();\n",
        by: "",
        wrong: "The watcher polls in a busy loop.",
      },
      {
        id: "watcher-woken",
        replace: "    this.#woken = false;\n",
        by: "",
        wrong: "Only the first wake-up works.",
      },
      {
        id: "watcher-revents",
        replace: "return fds[2 * index + 1]! >>> 16;",
        by: "return fds[2 * index + 1]! >>> 16 & POLLIN;",
        wrong: "A descriptor that is closed or broken is polled in a busy loop.",
      },
      {
        id: "watcher-eintr",
        replace: "if (ready < 0) ready = libc().poll_now(fds, count, 0);",
        by: "",
        wrong: "A signal to another thread fails all waits.",
        reason: "No signal can be sent to just the thread that polls.",
      },
      {
        id: "watcher-fail-all",
        replace: "    if (errno !== 0) return this.#failAll(polled, errno);\n",
        by: "",
        wrong: "A poll that the system refuses is repeated in a busy loop.",
      },
      {
        id: "watcher-turn",
        replace:
          "      if (this.#waits.size > 0) await new Promise<void>((resolve) => setImmediate(resolve));\n",
        by: "",
        wrong: "A wait that is renewed at once costs a poll more.",
      },
      {
        id: "watcher-flags",
        replace: "libc().fcntl(fd, F_SETFL, flags | O_NONBLOCK)",
        by: "libc().fcntl(fd, F_SETFL, O_NONBLOCK)",
        wrong: "Other flags of the descriptor are lost.",
      },
      {
        id: "watcher-inherited",
        replace: "libc().eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)",
        by: "libc().eventfd(0, EFD_NONBLOCK)",
        wrong: "Programs that are started inherit the descriptor.",
      },
    ],
  },
  {
    file: "ffi/errno.ts",
    tests: ["pure/core/errors"],
    mutants: [
      {
        id: "errno-unknown",
        replace: "return name === null ? `errno ${value}` : ",
        by: "return name === null ? `errno` : ",
        wrong: "An errno value that has no name is not shown.",
      },
    ],
  },
  {
    file: "ffi/table/header.ts",
    tests: ["library/header_functions"],
    mutants: [
      {
        id: "header-mw-domain",
        replace: "if (mr !== null && !haveSameDomain(mw, mr)) return EPERM;",
        by: "",
        wrong: "A window is bound to a region of another protection domain.",
      },
      {
        id: "header-mw-type",
        replace: "if (type !== enums.ibv_mw_type.IBV_MW_TYPE_1) return EINVAL;",
        by: "",
        wrong: "A window of type 2 is bound by the verb of type 1.",
      },
      {
        id: "header-rkey",
        replace: "(rkey & 0xffff_ff00) | (rkey + 1 & 0xff)",
        by: "rkey + 1",
        wrong: "The number of a key overflows into its index.",
        tests: ["library/header_functions", "library/memory/memory_window"],
      },
      {
        id: "header-srq-ops",
        replace: "    viewOf(bad_op).setBigUint64(0, handleAddress(op), true);\n",
        by: "",
        wrong: "The operation that failed is not named.",
      },
      {
        id: "header-wq-mutex",
        replace:
          "    libc().pthread_mutex_init(handleAddress(wq) + BigInt(fields.mutex.offset), null);\n",
        by: "",
        wrong: "A work queue has no valid mutex.",
        reason:
          "On Linux a mutex is initialized when its bytes are 0, as the provider leaves them.",
      },
      {
        id: "header-wq-context",
        replace:
          "    writeField(view, fields.wq_context, readField(viewOf(wq_init_attr), attr.wq_context));\n",
        by: "",
        wrong: "A work queue has no context of its user.",
      },
      {
        id: "header-sport",
        replace: "(fl & 0x3fff ^ fl >>> 14 & 0x3f)",
        by: "(fl & 0x3fff)",
        wrong: "The UDP port of a flow label is another than C computes.",
      },
    ],
  },
  {
    file: "ffi/thunks/x86_64.ts",
    tests: ["pure/thunks_code", "library/thunks"],
    mutants: [
      {
        id: "thunk-errno-cleared",
        replace: "    [0xc7, 0x00, 0, 0, 0, 0], //                 movl $0, (%rax)\n",
        by: "",
        wrong: "A failure without errno has the reason of an earlier one.",
      },
      {
        id: "thunk-cell",
        replace: "return parameters < REGISTERS\n",
        by: "return parameters <= REGISTERS\n",
        wrong: "errno of a verb with six parameters is written to a wrong address.",
      },
      {
        id: "thunk-argument",
        replace: "target.argument ? 0x9e : 0x9f",
        by: "target.argument ? 0x9f : 0x9f",
        wrong: "The op of the first argument is called instead of the second's.",
      },
    ],
  },
  {
    file: "ffi/thunks/memfd.ts",
    tests: ["library/thunks"],
    mutants: [
      {
        id: "memfd-inherited",
        replace: "MFD_CLOEXEC | MFD_EXEC",
        by: "MFD_EXEC",
        wrong: "Programs that are started inherit the descriptor.",
      },
      {
        id: "memfd-closed",
        replace: "    libc().close(fd);\n",
        by: "",
        wrong: "A descriptor is left when thunks cannot be loaded.",
      },
    ],
  },
  {
    file: "ffi/library/discovery.ts",
    tests: ["library/library"],
    mutants: [
      {
        id: "discovery-chosen",
        replace: "if (chosen) return [chosen];",
        by: "if (chosen) return [chosen, SONAME];",
        wrong: "Another library is used than the one that was named.",
      },
    ],
  },
];

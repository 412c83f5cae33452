/** Mutants of types/core: lifetimes, calls that can be abandoned, attributes, checks and errors. */

import type { MutantsOf } from "../mutant.ts";

export const CORE: readonly MutantsOf[] = [
  {
    file: "types/core/resource.ts",
    tests: ["pure/core/resource"],
    mutants: [
      {
        id: "resource-generation",
        replace: "      disposals.count++;\n",
        by: "",
        wrong: "Cached checks stay valid after a disposal.",
        tests: ["pure/core/resource", "library/work/post"],
      },
      {
        id: "resource-release-destroys",
        replace: "      resource.#holds--;\n      destroyIfUnused(resource);",
        by: "      resource.#holds--;",
        wrong: "The end of the last use does not destroy a disposed resource.",
      },
      {
        id: "resource-retain",
        replace: "      resource.#holds++;\n",
        by: "",
        wrong: "A resource in use is destroyed.",
      },
      {
        id: "resource-holds-bound",
        replace: "this.#holds > 0 ||",
        by: "this.#holds > 1 ||",
        wrong: "One use does not keep the native object.",
      },
      {
        id: "resource-children-bound",
        replace: "this.#childCount > 0) return",
        by: "this.#childCount > 1) return",
        wrong: "A parent is destroyed while one child is alive.",
      },
      {
        id: "resource-in-use",
        replace: "if (this.#kind.isInUse?.(this) || this.#triedIn === round) return;",
        by: "if (this.#triedIn === round) return;",
        wrong: "A resource that unfinished work uses is destroyed.",
        tests: ["pure/core/resource", "library/completion/handle_lifetime"],
      },
      {
        id: "resource-tried-once",
        replace: " || this.#triedIn === round) return;",
        by: ") return;",
        wrong: "A resource with two parents fails twice in one disposal.",
      },
      {
        id: "resource-round",
        replace: "if (depth++ === 0) round++;",
        by: "depth++;",
        wrong: "A resource whose destruction failed cannot be closed again.",
      },
      {
        id: "resource-parent-forgets-child",
        replace: "for (const parent of this.#parents) parent.#children?.delete(this);",
        by: "",
        wrong: "A destroyed child keeps its parent from being destroyed.",
      },
      {
        id: "resource-destroys-parent",
        replace: "    for (const parent of this.#parents) destroyIfUnused(parent);\n",
        by: "",
        wrong: "A closed parent is not destroyed when its last child is.",
      },
      {
        id: "resource-destroyed-before-destroy",
        replace: '    this.#kind.destroy(this);\n    this.#state = "destroyed";',
        by: '    this.#state = "destroyed";\n    this.#kind.destroy(this);',
        wrong: "A resource whose destruction failed counts as destroyed.",
      },
      {
        id: "resource-closing",
        replace: "      this.#kind.closing?.(this);\n",
        by: "",
        wrong: "Those who wait are not told that the resource is disposed.",
        tests: ["pure/core/resource", "library/completion/channel"],
      },
      {
        id: "resource-own-hold",
        replace: "    this.#holds++;\n",
        by: "",
        wrong:
          "The last child destroys the parent, and the error of the second try hides the first.",
      },
    ],
  },
  {
    file: "types/core/native_resource.ts",
    tests: ["pure/core/resource", "library/work/post"],
    mutants: [
      {
        id: "native-open-handle",
        replace: "      resource.#open = undefined;\n",
        by: "",
        wrong: "The handle of a disposed object can be used.",
        tests: ["library/completion/queue"],
      },
      {
        id: "native-closing",
        replace: "        closing?.(resource);\n",
        by: "",
        wrong: "Waits of a native object do not end when it is disposed.",
        tests: ["library/completion/channel"],
      },
    ],
  },
  {
    file: "types/core/abortable.ts",
    tests: ["pure/core/abortable", "library/address_handle/address_handle"],
    mutants: [
      {
        id: "abortable-limit",
        replace: "const MAX_RUNNING = 8;",
        by: "const MAX_RUNNING = 9;",
        wrong: "More calls run at a time than leave threads free.",
      },
      {
        id: "abortable-limit-check",
        replace: "if (running >= MAX_RUNNING) break;",
        by: "",
        wrong: "Calls to peers that do not answer take every thread.",
      },
      {
        id: "abortable-next-starts",
        replace: "    running--;\n    startWaiting();",
        by: "    running--;",
        wrong: "Calls in the queue never start.",
      },
      {
        id: "abortable-running-returned",
        replace: "    running--;\n",
        by: "",
        wrong: "After 8 calls no other one starts.",
      },
      {
        id: "abortable-drop",
        replace:
          "  const abort = (): void => {\n    waiting.delete(start);\n    waiter.reject(signal!.reason);",
        by: "  const abort = (): void => {\n    waiter.reject(signal!.reason);",
        wrong: "A call that was aborted in the queue starts nevertheless.",
      },
      {
        id: "abortable-discard",
        replace: "        discard(outcome);\n",
        by: "",
        wrong: "What a call makes after its abort is never destroyed.",
      },
      {
        id: "abortable-signal-after",
        replace: "if (!signal?.aborted && isOpen(owner)) {",
        by: "if (isOpen(owner)) {",
        wrong: "A call that was aborted makes an object that nobody gets.",
      },
      {
        id: "abortable-owner-after",
        replace: "if (!signal?.aborted && isOpen(owner)) {",
        by: "if (!signal?.aborted) {",
        wrong: "An object is made under a parent that is disposed.",
      },
      {
        id: "abortable-retain",
        replace: "    retain(owner);\n",
        by: "    retain(owner);\n    release(owner);\n    retain(owner);\n    release(owner);\n",
        wrong: "The parent is destroyed while a call on another thread uses it.",
      },
      {
        id: "abortable-release",
        replace: "    } finally {\n      release(owner);\n    }",
        by: "    } finally {\n      // nothing\n    }",
        wrong: "The parent can never be destroyed after a call.",
      },
      {
        id: "abortable-aborted-first",
        replace: "  signal?.throwIfAborted();\n",
        by: "",
        wrong: "A call whose signal is aborted already starts.",
      },
      {
        id: "abortable-listener",
        replace: '    signal?.removeEventListener("abort", abort);\n',
        by: "",
        wrong: "A signal that lives on keeps every call that it was given to.",
      },
      {
        id: "abortable-reentry",
        replace: "  if (starting) return;\n",
        by: "",
        wrong: "Starts that fail at once call each other until the stack ends.",
      },
      {
        id: "or-aborted",
        replace: "    return await Promise.race([promise, aborted.promise]);",
        by: "    return await promise;",
        wrong: "A wait for what others wait for cannot be aborted.",
        tests: ["pure/core/abortable", "library/reply/reply_path"],
      },
      {
        id: "or-aborted-listener",
        replace: '    signal.removeEventListener("abort", abort);\n',
        by: "",
        wrong: "A signal that lives on keeps every wait that it was given to.",
      },
    ],
  },
  {
    file: "types/core/attributes.ts",
    tests: ["pure/core/attributes", "pure/address/ah_attr"],
    mutants: [
      {
        id: "attributes-mask",
        replace: "if (given[name] !== undefined) mask |= rule.mask ?? 0;",
        by: "mask |= rule.mask ?? 0;",
        wrong: "The mask claims attributes that only have a fallback.",
      },
      {
        id: "attributes-required",
        replace:
          "if (rule.required) throw new TypeError(`Cannot use ${this.#what}: ${name} is missing`);",
        by: "",
        wrong: "A missing attribute is sent as 0.",
      },
      {
        id: "attributes-derive",
        replace: "rule.derive?.(given) ?? given[name] ?? rule.fallback",
        by: "given[name] ?? rule.derive?.(given) ?? rule.fallback",
        wrong: "A combination that the rule refuses or completes is sent as it was given.",
        tests: ["pure/core/attributes", "library/queue_pair/queue_pair"],
      },
      {
        id: "attributes-struct-base",
        replace: "rule.struct.writeTo(view, base + field!.offset, value as object)",
        by: "rule.struct.writeTo(view, field!.offset, value as object)",
        wrong: "A struct within a struct within a struct is written at the wrong place.",
      },
      {
        id: "attributes-read-base",
        replace: "if (rule.struct) return rule.struct.read(view, base + field.offset);",
        by: "if (rule.struct) return rule.struct.read(view, field.offset);",
        wrong: "A struct within a struct is read at the wrong place.",
      },
      {
        id: "attributes-max",
        replace: "max ?? 2 ** (bits ?? BITS[type]!) - 1",
        by: "max ?? 2 ** (bits ?? BITS[type]!)",
        wrong: "The first number that does not fit is taken, and sent as 0.",
      },
      {
        id: "attributes-big-endian",
        replace: 'field.type.replace(/^u/, "be")',
        by: "field.type",
        wrong: "Numbers in network byte order are written in host order.",
        tests: ["pure/core/attributes", "library/flow/flow"],
      },
      {
        id: "attributes-null",
        replace: "if (given[name] === null) {",
        by: "if (false) {",
        wrong: "null is taken for an attribute that is left out.",
      },
    ],
  },
  {
    file: "types/core/checks.ts",
    tests: ["pure/core/checks"],
    mutants: [
      {
        id: "checks-min",
        replace: "if (value < min || value > max) {",
        by: "if (value > max) {",
        wrong: "Negative numbers reach native code.",
      },
      {
        id: "checks-integer",
        replace: 'typeof value !== "number" || !Number.isInteger(value)',
        by: 'typeof value !== "number" || Number.isNaN(value)',
        wrong: "Fractions are cut off.",
      },
      {
        id: "checks-uint24",
        replace: "value >>> 0 === value && value <= 0xff_ffff",
        by: "value >>> 0 === value && value <= 0x1ff_ffff",
        wrong: "A queue pair number of 25 bits is taken.",
      },
      {
        id: "checks-uint64",
        replace: "value > 0xffff_ffff_ffff_ffffn",
        by: "value > 0x1_0000_0000_0000_0000n",
        wrong: "2^64 is sent as 0.",
      },
      {
        id: "checks-snapshot-unknown",
        replace: "if (!(names as readonly string[]).includes(name)) throw",
        by: "if (false) throw",
        wrong: "A misspelt attribute is ignored.",
      },
      {
        id: "checks-snapshot-once",
        replace: "if (value !== undefined) copy[name] = value;",
        by: "if (value !== undefined) copy[name] = source[name];",
        wrong: "An attribute is read twice, and a getter may answer differently.",
        tests: ["pure/core/checks", "pure/core/attributes"],
      },
      {
        id: "checks-list-snapshot",
        replace: "return Array.from({ length }, (_, i) => value[i]!);",
        by: "return value as T[];",
        wrong: "The caller can change a list while it is used.",
        tests: ["pure/core/checks", "library/work/post"],
      },
      {
        id: "checks-list-length",
        replace: "if (length > MAX_LIST) {",
        by: "if (false) {",
        wrong: "A list that claims 2^32 elements exhausts the memory.",
      },
      {
        id: "checks-instance-real",
        replace: "if (isOne && (!(value instanceof Resource) || isResource(value))) return value;",
        by: "if (isOne) return value;",
        wrong: "An object with the prototype of a resource reaches native code.",
        tests: ["pure/core/checks", "library/work/post"],
      },
    ],
  },
  {
    file: "types/core/errors.ts",
    tests: ["pure/core/errors"],
    mutants: [
      {
        id: "errors-negative",
        replace: "throw failure(verb, action, Math.abs(result), options);",
        by: "throw failure(verb, action, result, options);",
        wrong: "A negative errno value has no name.",
      },
      {
        id: "errors-check-negative",
        replace: "if (result !== 0) throw failure(verb, action, Math",
        by: "if (result > 0) throw failure(verb, action, Math",
        wrong: "A provider that returns a negative errno value seems to succeed.",
      },
      {
        id: "errors-errno-sign",
        replace: "if (result < 0) throw failure(verb, action, errno(), options);",
        by: "if (result < -1) throw failure(verb, action, errno(), options);",
        wrong: "A verb that returns -1 seems to succeed.",
      },
      {
        id: "errors-hint-fails",
        replace: "  } catch {\n    return undefined;\n  }",
        by: "  } finally {\n    // nothing\n  }",
        wrong: "The failure of a hint hides the failure that it explains.",
      },
      {
        id: "errors-not-supported",
        replace: 'this.code === "EOPNOTSUPP" || this.code === "ENOSYS"',
        by: 'this.code === "EOPNOTSUPP"',
        wrong: "A kernel without a command does not count as lacking it.",
      },
    ],
  },
  {
    file: "types/core/enums.ts",
    tests: ["pure/completion/work_completion"],
    mutants: [
      {
        id: "enums-names-rest",
        replace: "rest = (rest & ~flag) >>> 0;",
        by: "",
        wrong: "Flags that are known are also shown as a number.",
        tests: ["pure/completion/work_completions", "pure/core/enums"],
      },
    ],
  },
];

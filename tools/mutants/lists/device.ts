/** Mutants of types/device and types/memory. */

import type { MutantsOf } from "../mutant.ts";

export const DEVICE: readonly MutantsOf[] = [
  {
    file: "types/device/device.ts",
    tests: ["library/device/context"],
    mutants: [
      {
        id: "device-list-freed",
        replace: "    verbs().ibv_free_device_list(array);\n",
        by: "",
        wrong: "Every list of devices stays in memory.",
      },
      {
        id: "device-guid",
        replace: "return view.getBigUint64(0);",
        by: "return view.getBigUint64(0, true);",
        wrong: "The GUID has its bytes reversed.",
        tests: ["library/device/context", "library/device/values"],
      },
      {
        id: "device-list-count",
        replace: "readPointers(array, count[0]!)",
        by: "readPointers(array, Math.min(1, count[0]!))",
        wrong: "Only the first device is listed.",
      },
      {
        id: "device-list-limit",
        replace: "    if (limit === 0) return use([]);",
        by: "    if (limit >= 0) return use([]);",
        wrong: "A process without a descriptor left is told that there is no device.",
        tests: ["library/faults/limits"],
      },
    ],
  },
  {
    file: "types/device/context.ts",
    tests: ["library/device/context"],
    mutants: [
      {
        id: "context-gid-table-port",
        replace: "entries.filter(({ portNum }) => portNum === port)",
        by: "entries",
        wrong: "gidTable(port) has the GIDs of other ports.",
      },
      {
        id: "context-port-bound",
        replace: "port >= 1 && port <= last",
        by: "port >= 0 && port <= last",
        wrong: "Port 0 reaches native code.",
      },
      {
        id: "context-port-last",
        replace: "port >= 1 && port <= last",
        by: "port >= 1 && port <= last + 1",
        wrong: "A port beyond the last one reaches native code.",
      },
      {
        id: "context-next-device",
        replace: "          causes.push(error);\n",
        by: "          causes.push(error);\n          throw error;\n",
        wrong: "Context.open() gives up at the first device that cannot be opened.",
      },
      {
        id: "context-inactive-closed",
        replace: "const context = stack.use(Context.#fromDevice(device));",
        by: "const context = Context.#fromDevice(device);",
        wrong: "Devices without an active port stay open.",
      },
      {
        id: "context-all-ports",
        replace: "for (let port = 1; port <= this.physPortCnt; port++) {\n      if (queryPort",
        by: "for (let port = 1; port < 2; port++) {\n      if (queryPort",
        wrong: "A device whose second port is active is passed over.",
      },
      {
        id: "context-active",
        replace: ".state === PortState.ACTIVE) return true;",
        by: ".state >= PortState.ARMED) return true;",
        wrong: "A device whose port is not active yet is opened.",
      },
      {
        id: "context-waits-end",
        replace: "  closing: closeAsyncEvents,\n",
        by: "",
        wrong: "Those who wait for events of a closed device wait for ever.",
        tests: ["library/device/async_events", "library/device/events"],
      },
    ],
  },
  {
    file: "types/device/gid_table.ts",
    tests: ["library/device/context", "library/device/query"],
    mutants: [
      {
        id: "gid-table-ports",
        replace: "for (let port = 1; port <= physPortCnt; port++) slots",
        by: "for (let port = 1; port <= 1; port++) slots",
        wrong: "There is room for the GIDs of the first port only.",
      },
      {
        id: "pkey-query-order",
        replace: "return pkey.getUint16(0);",
        by: "return pkey.getUint16(0, true);",
        wrong: "A P_Key has its bytes reversed.",
      },
      {
        id: "pkey-index-order",
        replace: "bytes.getUint16(0, true)",
        by: "bytes.getUint16(0)",
        wrong: "A P_Key is looked up with its bytes reversed.",
      },
      {
        id: "gid-table-stride",
        replace: "readGidEntry(entries, i * structs.ibv_gid_entry.size)",
        by: "readGidEntry(entries, 0)",
        wrong: "All entries are the first one.",
      },
      {
        id: "gid-table-failure",
        replace: "if (count < 0) check",
        by: "if (count < -1000) check",
        wrong: "A table that cannot be read is empty.",
      },
    ],
  },
  {
    file: "types/device/async_events.ts",
    tests: ["library/device/async_events", "library/device/events"],
    mutants: [
      {
        id: "async-acknowledge",
        replace: "      verbs().ibv_ack_async_event(this.#pointer);\n",
        by: "",
        wrong: "Destroying the object of an event waits for ever.",
      },
      {
        id: "async-listener-throws",
        replace: "      } catch (error) {\n        errors.push(error);\n      }",
        by: "      } finally {\n        // nothing\n      }",
        wrong: "A listener that throws hides the event from the others.",
      },
      {
        id: "async-lid-change",
        replace: "  EventType.LID_CHANGE,\n",
        by: "",
        wrong: "A change of the LID names no port.",
      },
      {
        id: "async-sm-change",
        replace: "  EventType.SM_CHANGE,\n",
        by: "",
        wrong: "A change of the subnet manager names no port.",
      },
      {
        id: "async-client-reregister",
        replace: "  EventType.CLIENT_REREGISTER,\n",
        by: "",
        wrong: "A request to register again names no port.",
      },
      {
        id: "async-unregister",
        replace: "  elementsOf(rootOf(resource)).delete(handleAddress(handleOf(resource)));\n",
        by: "",
        wrong: "An event names an object that is destroyed.",
        tests: ["library/device/event_elements"],
      },
      {
        id: "async-broken",
        replace: 'if (code !== "EAGAIN" && code !== "EINTR") {',
        by: "if (false) {",
        wrong: "The events of a device that is gone are read in a busy loop.",
      },
      {
        id: "async-listener-left",
        replace: "    reader.delete(listener);\n",
        by: "",
        wrong: "An iteration that ended collects events for ever.",
      },
      {
        id: "async-wake",
        replace: "    events.push(event);\n    reader.wake();",
        by: "    events.push(event);",
        wrong: "An iteration sleeps on events that another one read.",
      },
    ],
  },
  {
    file: "types/device/event_source.ts",
    tests: ["library/completion/channel", "library/device/async_events"],
    mutants: [
      {
        id: "source-settle",
        replace: "      await this.#settle();\n",
        by: "",
        wrong: "A wait ends while its descriptor is still watched.",
      },
      {
        id: "source-cancel",
        replace: "    this.#cancelled ??= this.#wait?.cancel();\n",
        by: "",
        wrong: "A descriptor is watched for ever after the last wait was aborted.",
      },
      {
        id: "source-retain",
        replace: "    retain(this.#owner);\n",
        by:
          "    retain(this.#owner);\n    release(this.#owner);\n    retain(this.#owner);\n    release(this.#owner);\n",
        wrong: "A channel is destroyed while its descriptor is watched.",
      },
      {
        id: "source-most",
        replace: "      if (taken === most) break;\n",
        by: "",
        wrong: "One event ends several waits.",
      },
      {
        id: "source-which",
        replace: "      if (!which(waiter.key)) continue;\n",
        by: "",
        wrong: "An event ends waits for other queues.",
      },
      {
        id: "source-again",
        replace: "} while (this.#waiters.size > 0);",
        by: "} while (false);",
        wrong: "After one event nobody else is woken.",
      },
      {
        id: "source-error",
        replace: "      this.reject(() => error, () => true);\n",
        by: "",
        wrong: "Those who wait for a broken device wait for ever.",
      },
      {
        id: "source-cancelled-reset",
        replace: "this.#wait = this.#cancelled = undefined;",
        by: "this.#wait = undefined;",
        wrong: "After one abort the next abort does not end the watch.",
      },
    ],
  },
  {
    file: "types/device/recommend_gid.ts",
    tests: ["pure/device/recommend_gid"],
    mutants: [
      {
        id: "recommend-order",
        replace: ".sort((a, b) => a.gidIndex - b.gidIndex)",
        by: "",
        wrong: "The recommendation depends on the order of the list.",
      },
      {
        id: "recommend-self-assigned",
        replace: "ipv4[0] === 169 && ipv4[1] === 254 || ",
        by: "",
        wrong: "An address that reaches no other host is recommended.",
      },
    ],
  },
  {
    file: "types/memory/reg_mr.ts",
    tests: ["library/memory/memory_use", "library/memory/memory_region"],
    mutants: [
      {
        id: "reg-freed",
        replace: "    native?.free();\n    throw failure(",
        by: "    throw failure(",
        wrong: "The memory of a registration that failed is never freed.",
      },
      {
        id: "reg-pinned",
        replace: "  keepMemory(memory);\n  return",
        by: "  return",
        wrong: "A caller's buffer is collected while the device may write to it.",
      },
      {
        id: "reg-unpinned",
        replace: "  if (memory.native === undefined) unpin(memory);\n  else memory.native.free();",
        by: "  memory.native?.free();",
        wrong: "A caller's buffer is kept for ever after its region was disposed.",
      },
      {
        id: "reg-native-freed",
        replace: "  else memory.native.free();\n",
        by: "",
        wrong: "The memory of a region is never freed.",
      },
      {
        id: "reg-discard",
        replace: "if (value !== null && verbs().ibv_dereg_mr(value) !== 0) keepMemory(memory);",
        by: "if (value !== null && verbs().ibv_dereg_mr(value) > 1000) keepMemory(memory);",
        wrong: "Memory that is still registered is freed after an abort.",
      },
      {
        id: "reg-discard-dereg",
        replace:
          "if (value !== null && verbs().ibv_dereg_mr(value) !== 0) keepMemory(memory);\n      else memory.native?.free();",
        by: "if (value === null) memory.native?.free();",
        wrong: "A region that was registered after its abort is never deregistered.",
      },
      {
        id: "reg-iova",
        replace: "plan.iova ?? start, access)",
        by: "start, access)",
        wrong: "The address that the peer was told is not that of the region.",
      },
      {
        id: "reg-dereg-first",
        replace: '  check("ibv_dereg_mr", "deregister memory", verbs().ibv_dereg_mr(handle));',
        by: "  verbs().ibv_dereg_mr(handle);",
        wrong: "Memory is freed although the device still uses it.",
      },
      {
        id: "reg-hint-access",
        replace: "!(access & LOCAL_WRITE)) {",
        by: "true) {",
        wrong: "A hint names a cause that is not there.",
      },
    ],
  },
  {
    file: "types/memory/memory_source.ts",
    tests: ["library/memory/memory_use", "library/memory/memory_region"],
    mutants: [
      {
        id: "memory-empty",
        replace: "if (bytes.length === 0) throw",
        by: "if (false) throw",
        wrong: "An empty buffer reaches native code.",
      },
      {
        id: "memory-resizable",
        replace: "if ((plain ? isResizable : isGrowable).call(buffer)) {",
        by: "if (false) {",
        wrong: "A buffer that can shrink is registered.",
      },
      {
        id: "memory-worker",
        replace: "  if (inWorker()) {",
        by: "  if (false) {",
        wrong: "The device writes to a buffer of a Worker that was terminated.",
      },
      {
        id: "memory-detached",
        replace: "if (plain && isDetached.call(buffer)) {",
        by: "if (false) {",
        wrong: "A detached buffer is said to be empty.",
      },
      {
        id: "memory-offset",
        replace: "new Uint8Array(buffer, of.byteOffset.call(view),",
        by: "new Uint8Array(buffer, 0,",
        wrong: "Another part of the buffer is registered.",
      },
    ],
  },
  {
    file: "types/memory/memory_region.ts",
    tests: [
      "library/memory/memory_use",
      "library/memory/memory_region",
      "library/work/send_requests",
    ],
    mutants: [
      {
        id: "region-within-offset",
        replace:
          'integer(offset, "offset", 0, this.length);\n    integer(length, "length", 0, this.length - offset);',
        by:
          'integer(offset, "offset", 0, this.length);\n    integer(length, "length", 0, this.length);',
        wrong: "A slice goes beyond the end of its region.",
      },
      {
        id: "region-freed",
        replace: "    this.#destroy?.(handle);\n",
        by: "",
        wrong: "Memory is freed although the device still uses it.",
      },
      {
        id: "region-detached",
        replace: "if (this.#memories[0]?.bytes.length === 0) {",
        by: "if (false) {",
        wrong: "A region whose buffer was detached can be used.",
      },
      {
        id: "region-slice-addr",
        replace: "this.addr = mr.addr + BigInt(offset);",
        by: "this.addr = mr.addr;",
        wrong: "A slice is at the start of its region.",
      },
    ],
  },
  {
    file: "types/memory/rereg_mr.ts",
    tests: ["library/memory/rereg_mr"],
    mutants: [
      {
        id: "rereg-old-freed",
        replace: "    freeMemory(old);\n",
        by: "",
        wrong: "The memory of before the change is never freed.",
      },
      {
        id: "rereg-kept",
        replace: "    keepMemory(memory);\n  }\n  handOver",
        by: "  }\n  handOver",
        wrong: "The new buffer is collected while the device may write to it.",
      },
      {
        id: "rereg-hand-over",
        replace: "  handOver(mr);\n",
        by: "",
        wrong: "The old object deregisters the region of the new one.",
      },
      {
        id: "rereg-failed-kept",
        replace: "    addMemory(mr, memory);\n",
        by: "",
        wrong: "After a failure half-way one of both memories is never freed.",
      },
    ],
  },
  {
    file: "types/memory/memory_window.ts",
    tests: [
      "library/memory/memory_window",
      "library/queue_pair/options",
      "library/queue_pair/bound_windows",
    ],
    mutants: [
      {
        id: "window-kept",
        replace: "    if (mr !== undefined) retain(mr);\n",
        by: "",
        wrong: "A region is deregistered while a window is bound to it.",
      },
      {
        id: "window-released",
        replace: "    if (before !== undefined) release(before);\n",
        by: "",
        wrong: "A region that a window was bound to is never deregistered.",
      },
      {
        id: "window-noted",
        replace: "    if (qp !== undefined) windowsOf.set(",
        by: "    if (false) windowsOf.set(",
        wrong: "A queue pair is destroyed before a window that is bound through it.",
      },
      {
        id: "window-rebound",
        replace: "    windowsOf.get(before)?.delete(this);\n",
        by: "",
        wrong: "A queue pair waits for a window that another one has bound since.",
      },
      {
        id: "window-lets-go",
        replace: "    destroyIfUnused(before);\n",
        by: "",
        wrong: "A queue pair that waited for a window is never destroyed.",
      },
      {
        id: "window-ending",
        replace: "windows !== undefined && [...windows].some(isEnding)",
        by: "windows !== undefined && windows.size > 0",
        wrong: "A queue pair is not destroyed while a window is bound through it.",
      },
    ],
  },
  {
    file: "types/memory/device_memory.ts",
    tests: ["library/memory/regions"],
    mutants: [
      {
        id: "dm-range",
        replace: 'integer(length, "length", 0, this.length - dmOffset);',
        by: 'integer(length, "length", 0, this.length);',
        wrong: "A copy goes beyond the end of device memory.",
      },
      {
        id: "dm-context",
        replace: 'if (instance(dm, DeviceMemory, "dm").context !== pd.context) {',
        by: "if (false) {",
        wrong: "Device memory of another context reaches native code.",
      },
      {
        id: "dm-parent",
        replace: "length, parents: [dm] }",
        by: "length }",
        wrong: "Device memory is freed while a region uses it.",
      },
    ],
  },
  {
    file: "types/memory/implicit_memory_region.ts",
    tests: ["library/memory/regions"],
    mutants: [
      {
        id: "implicit-freed",
        replace: "      for (const { native } of parts.splice(0)) native.free();\n",
        by: "",
        wrong: "Memory of an implicit region is never freed.",
      },
    ],
  },
  {
    file: "types/memory/parent_domain.ts",
    tests: ["library/memory/domains"],
    mutants: [
      {
        id: "parent-domain-td",
        replace: "const parents = td === undefined ? [pd] : [pd, td];",
        by: "const parents = [pd];",
        wrong: "A thread domain is deallocated while a parent domain uses it.",
      },
      {
        id: "parent-domain-context",
        replace: "if (td !== undefined && td.context !== pd.context) {",
        by: "if (false) {",
        wrong: "A thread domain of another context reaches native code.",
      },
    ],
  },
];

import type { IbvQp } from "../../ffi/handles.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import { instance } from "../core/checks.ts";
import { call } from "../core/errors.ts";
import { assertOpen } from "../core/resource.ts";
import { assertBindable, MemoryWindow, MwType, windowCore } from "../memory/memory_window.ts";
import type { ProtectionDomain } from "../memory/protection_domain.ts";
import { bindingCodec, readBinding } from "../work/attributes.ts";
import { type MwBindInfo, SendFlags } from "../work/work_request.ts";

/**
 * How a memory window of type 1 is bound (`struct ibv_mw_bind`).
 *
 * @category Queue pairs
 */
export interface MwBind {
  /** A number of your choice, 64 bits. The completion carries it, as a bigint. 0 if left out. */
  readonly wrId?: number | bigint | undefined;
  /** Whether the request has a completion if it succeeds. True if left out. */
  readonly signaled?: boolean | undefined;
  /** What the window is bound to. */
  readonly bindInfo: MwBindInfo;
}

const codec: AttributeCodec<MwBind> = codecOf("ibv_mw_bind", "binding", {
  wrId: {},
  signaled: { field: "send_flags", boolean: SendFlags.SIGNALED, fallback: true },
  bindInfo: { struct: bindingCodec, required: true, derive: bindingOf },
});

function bindingOf({ bindInfo }: Readonly<Record<string, unknown>>): unknown {
  return bindInfo === undefined ? undefined : readBinding(bindInfo as MwBindInfo);
}

export function bindMw(
  base: ProtectionDomain,
  handle: () => IbvQp,
  mw: MemoryWindow,
  bind: MwBind,
): void {
  const { view, given: { bindInfo: binding }, writeHandles } = codec.write(bind);
  assertOpen(instance(mw, MemoryWindow, "mw"));
  const core = windowCore(mw);
  if (core.type !== MwType.TYPE_1) {
    throw new TypeError(
      "Cannot bind memory window: it is of type 2, which a send request with opcode BIND_MW binds",
    );
  }
  assertBindable(base, mw, binding.mr);
  writeHandles();
  call("ibv_bind_mw", "bind memory window", [handle(), mw.unsafeHandle, view]);
  core.bound(binding.length === 0 ? undefined : binding.mr);
}

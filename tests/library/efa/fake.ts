// Puts a libefa that takes the recorder for an adapter in the place of libefa.

import { bindEfa } from "../../../ffi/efa.ts";
import { standIn } from "../stand_in.ts";

const path = await standIn("EFA_LIBRARY", "fake_efa.c", bindEfa);

const { symbols } = Deno.dlopen(path, {
  fake_own_attr: { parameters: ["buffer"], result: "void" },
});

/** The `struct efadv_qp_init_attr` of the last queue pair. */
export function lastQpAttr(): DataView<ArrayBuffer> {
  const bytes = new Uint8Array(64);
  symbols.fake_own_attr(bytes);
  return new DataView(bytes.buffer);
}

import { verbs } from "../../ffi/library.ts";
import { readCString } from "../../ffi/pointers.ts";
import { integer } from "../core/checks.ts";
import type { WcStatus } from "./work_completion.ts";

/**
 * A status in the words of libibverbs (`ibv_wc_status_str`), such as `"local length error"`.
 *
 * @category Completions
 */
export function wcStatusStr(status: WcStatus): string {
  const text = verbs().ibv_wc_status_str(integer(status, "status", 0, 0x7fff_ffff));
  return text === null ? "unknown" : readCString(text);
}

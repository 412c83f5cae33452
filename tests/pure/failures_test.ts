// How functions say that they failed, as their man pages say it.
import { assertEquals } from "@std/assert";
import { efaRows } from "../../ffi/efa/functions.ts";
import { rdmacmRows } from "../../ffi/rdmacm/functions.ts";
import { rows } from "../../ffi/verbs.ts";

/** What a row may have. */
interface Row {
  readonly result?: unknown;
  readonly fails?: string;
  readonly header?: unknown;
}

const ROWS: Readonly<Record<string, Row>> = { ...rows(), ...efaRows, ...rdmacmRows };

/** Functions of libibverbs that return -1 and set errno, where most return the errno value. */
const BY_ERRNO = new Set(
  ("ibv_close_device ibv_get_async_event ibv_query_gid ibv_query_pkey ibv_get_pkey_index " +
    "ibv_rereg_mr ibv_export_buf_dmabuf_fd ibv_dm_export_dmabuf_fd ibv_get_cq_event " +
    "ibv_init_ah_from_wc ibv_resolve_eth_l2_from_gid").split(" "),
);

/** Functions that return a negative errno value, or a number. */
const NEGATIVE = /^(ibv_poll_cq|_ibv_query_gid_table|efadv_get_max_\wq_depth|efadv_wc_read_sgid)$/;

/** Functions that return a number or a constant text and cannot fail. */
const NEVER = /_str$|_get_device_(name|index)$|^ibv_rate_to_|_in_order$|^ibv_qp_to_qp_ex$/;

function expected(name: string, result: unknown): string {
  if (NEVER.test(name)) return "never";
  if (NEGATIVE.test(name)) return "negative";
  if (result === "pointer" || name === "ibv_alloc_buf") return "errno";
  if (result !== "i32") return "never";
  return name.startsWith("rdma_") || BY_ERRNO.has(name) ? "errno" : "code";
}

Deno.test("Each function says that it failed as its man page says", () => {
  const native = Object.entries(ROWS).filter(([, { result }]) => result !== undefined);
  assertEquals(
    native.map(([name, { fails }]) => `${name} ${fails}`),
    native.map(([name, { result }]) => `${name} ${expected(name, result)}`),
  );
  assertEquals(native.length > 220, true);
});

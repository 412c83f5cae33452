/** Writes the tables of docs/errors.md from those of the library, from which messages take their hints. */

import { AH_CAUSES, FROM_WC_CAUSES, INIT_CAUSES } from "../../types/address_handle/hints.ts";
import * as ip from "../../types/cm/address_causes.ts";
import * as cm from "../../types/cm/cm_causes.ts";
import { CHANNEL_CAUSES } from "../../types/cm/errors.ts";
import { JOIN_CAUSES } from "../../types/cm/groups.ts";
import { CQ_CAUSES } from "../../types/completion/completion_queue.ts";
import { CQ_EX_CAUSES } from "../../types/completion/completion_queue_ex.ts";
import { POLL_CAUSES } from "../../types/completion/cq_core.ts";
import { USUAL_CAUSES } from "../../types/completion/failure_hints.ts";
import type { Causes } from "../../types/core/causes.ts";
import { CERTAIN, type Class, LIKELY } from "../../types/core/class_causes.ts";
import { GID_CAUSES, OPEN_CAUSES, PKEY_CAUSES } from "../../types/device/context.ts";
import { ADDRESS_CAUSES, PORT_CAUSES } from "../../types/device/address_hints.ts";
import { EFA_CAUSES } from "../../types/efa/call.ts";
import * as efa from "../../types/efa/provider.ts";
import { FLOW_CAUSES } from "../../types/flow/flow.ts";
import { EXPORT_CAUSES } from "../../types/memory/allocated_buffer.ts";
import { COPY_CAUSES } from "../../types/memory/device_memory.ts";
import { DMABUF_CAUSES } from "../../types/memory/foreign_regions.ts";
import { REGISTER_CAUSES } from "../../types/memory/reg_mr.ts";
import * as qp from "../../types/queue_pair/hints.ts";
import { TABLE_CAUSES } from "../../types/rss/rwq_indirection_table.ts";
import * as wq from "../../types/rss/work_queue.ts";
import * as srq from "../../types/srq/shared_receive_queue.ts";
import { inProject } from "../host/paths.ts";
import { demand } from "../host/setup.ts";
import { tool } from "../host/tool.ts";

const HELP = `Writes the tables of docs/errors.md from those in types/, which have the causes of
errors. A test compares them.

  deno task generate errors
`;

const FILE = "docs/errors.md";

// deno-lint-ignore no-explicit-any -- what is given to the causes of a verb
type Section = readonly [verbs: string, ...causes: Causes<any>[]];

/** The verbs, where `*` stands for further letters, and their causes. */
const VERBS: readonly Section[] = [
  ...sectionsOf(CERTAIN),
  ["`ibv_open_device`", OPEN_CAUSES],
  ["`ibv_query_gid`, `ibv_query_gid_ex`", GID_CAUSES],
  ["`ibv_query_pkey`", PKEY_CAUSES],
  ["`ibv_reg_mr*`, `ibv_reg_buf_mr`, `ibv_rereg_mr`", REGISTER_CAUSES],
  ["`ibv_reg_dmabuf_mr`", DMABUF_CAUSES],
  ["`ibv_export_buf_dmabuf_fd`", EXPORT_CAUSES],
  ["`ibv_memcpy_to_dm`, `ibv_memcpy_from_dm`", COPY_CAUSES],
  ["`ibv_create_cq`, `ibv_create_cq_ex`, `ibv_resize_cq`", CQ_CAUSES],
  ["`ibv_create_cq_ex`", CQ_EX_CAUSES],
  ["`ibv_poll_cq`, `ibv_start_poll`", POLL_CAUSES],
  ["`ibv_create_qp*`", efa.NO_QUEUE_PAIR, qp.CREATE_CAUSES],
  ["`ibv_modify_qp`", qp.MODIFY_CAUSES],
  ["`ibv_query_qp`", qp.QUERY_CAUSES],
  ["`ibv_post_send`, `ibv_wr_complete`", qp.SEND_CAUSES],
  ["`ibv_post_recv`", qp.RECV_CAUSES],
  ["`ibv_attach_mcast`, `ibv_detach_mcast`", qp.GROUP_CAUSES],
  ["`ibv_qp_attach_comp_cntr`", qp.COUNTER_CAUSES],
  ["`ibv_destroy_qp`", qp.DESTROY_CAUSES],
  [
    "`ibv_create_ah*`, `ibv_resolve_eth_l2_from_gid`, `ibv_modify_qp`: all that look for a way from a port",
    PORT_CAUSES,
  ],
  [
    "`ibv_create_ah`, `ibv_resolve_eth_l2_from_gid`, `ibv_modify_qp`",
    efa.NO_GRH,
    ADDRESS_CAUSES,
  ],
  ["`ibv_create_ah`, `ibv_resolve_eth_l2_from_gid`", AH_CAUSES],
  ["`ibv_create_ah_from_wc`", efa.NO_GRH, FROM_WC_CAUSES],
  ["`ibv_init_ah_from_wc`, `ibv_create_ah_from_wc`", INIT_CAUSES],
  ["`ibv_create_srq*`", efa.NO_SHARED_RECEIVES, srq.CREATE_CAUSES],
  ["`ibv_modify_srq`", srq.MODIFY_CAUSES],
  ["`ibv_post_srq_recv`", srq.POST_CAUSES],
  ["`ibv_create_wq`", wq.CREATE_CAUSES],
  ["`ibv_modify_wq`", wq.MODIFY_CAUSES],
  ["`ibv_post_wq_recv`", wq.POST_CAUSES],
  ["`ibv_create_rwq_ind_table`", TABLE_CAUSES],
  ["`ibv_create_flow`", FLOW_CAUSES],
  [
    "`rdma_create_event_channel`, `rdma_create_id`, `rdma_getaddrinfo`",
    CHANNEL_CAUSES,
  ],
  ["`rdma_bind_addr`, `rdma_resolve_addr`, `rdma_resolve_route`", ip.ADDRESS_CAUSES],
  ["`rdma_bind_addr`", ip.BIND_CAUSES],
  ["`rdma_bind_addr`, `rdma_resolve_addr`, `rdma_resolve_route`", ip.RESOLVE_CAUSES],
  ["`rdma_init_qp_attr`, `rdma_accept`, `rdma_reject*`", cm.REQUEST_CAUSES],
  ["`rdma_join_multicast*`", JOIN_CAUSES],
  ["`rdma_write_cm_event`", cm.EVENT_CAUSES],
  ["`efadv_*`", EFA_CAUSES],
  ...sectionsOf(LIKELY),
];

const STATUSES: readonly Section[] = [["", qp.UNSENT_CAUSES, USUAL_CAUSES]];

/** The tables by the words that end their heads: each with its rows, and a row with its cells. */
export const TABLES: readonly (readonly [head: string, rows: readonly string[][]])[] = [
  ["| verb | code | what the hint says |", VERBS.flatMap(rowsOf)],
  ["| status | what the hint says |", STATUSES.flatMap(rowsOf).map(([, ...cells]) => cells)],
];

function sectionsOf(classes: readonly Class[]): Section[] {
  return classes.map(({ title, causes }) => [title, causes]);
}

function rowsOf([verbs, ...causes]: Section): string[][] {
  return causes.flat().map(([codes, sentence], i) => [
    i === 0 ? verbs : "",
    codes,
    // What depends on the case is in italics.
    sentence.replaceAll(/\{(\w+)\}/g, "_$1_"),
  ]);
}

/** The rows of the table with a head, as the document has them. */
export function rowsIn(document: string, head: string): string[][] {
  return linesOf(document, head).map((line) =>
    line.split("|").slice(1, -1).map((cell) => cell.trim())
  );
}

/** The lines of the rows of a table. */
function linesOf(document: string, head: string): string[] {
  const lines = document.split("\n");
  const plain = (line: string): string => line.replaceAll(/ +/g, " ");
  const start = lines.findIndex((line) => plain(line) === head) + 2;
  const end = lines.findIndex((line, i) => i >= start && !line.startsWith("|"));
  return lines.slice(start, end);
}

if (import.meta.main || Deno.mainModule.endsWith("tools/named.ts")) {
  await tool(HELP, {}, async () => {
    let text = await Deno.readTextFile(inProject(FILE));
    for (const [head, rows] of TABLES) {
      const old = linesOf(text, head).join("\n");
      text = text.replace(old, rows.map((cells) => `| ${cells.join(" | ")} |`).join("\n"));
    }
    await Deno.writeTextFile(inProject(FILE), text);
    await demand(Deno.execPath(), "fmt", "--quiet", inProject(FILE));
    return 0;
  });
}

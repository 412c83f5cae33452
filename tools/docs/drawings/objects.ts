/** The tree of verbs objects. */

import { arrow, cell, drawing, type Kind, label } from "./svg.ts";

const W = 148;
const H = 44;

interface Node {
  readonly x: number;
  readonly y: number;
  readonly kind: Kind;
  readonly name: string;
  readonly verb: string;
}

const NODES = {
  context: { x: 376, y: 20, kind: "header", name: "Context", verb: "ibv_context" },
  channel: { x: 20, y: 120, kind: "plain", name: "CompletionChannel", verb: "ibv_comp_channel" },
  cq: { x: 196, y: 120, kind: "number", name: "CompletionQueue", verb: "ibv_cq" },
  pd: { x: 550, y: 120, kind: "number", name: "ProtectionDomain", verb: "ibv_pd" },
  wq: { x: 20, y: 240, kind: "plain", name: "WorkQueue", verb: "ibv_wq" },
  srq: { x: 196, y: 240, kind: "plain", name: "SharedReceiveQueue", verb: "ibv_srq" },
  qp: { x: 376, y: 240, kind: "data", name: "QueuePair", verb: "ibv_qp" },
  mr: { x: 550, y: 240, kind: "data", name: "MemoryRegion", verb: "ibv_mr" },
  ah: { x: 726, y: 240, kind: "data", name: "AddressHandle", verb: "ibv_ah" },
  table: { x: 20, y: 340, kind: "plain", name: "RwqIndirectionTable", verb: "ibv_rwq_ind_table" },
  flow: { x: 376, y: 340, kind: "plain", name: "Flow", verb: "ibv_flow" },
  mw: { x: 550, y: 340, kind: "plain", name: "MemoryWindow", verb: "ibv_mw" },
  path: { x: 726, y: 340, kind: "plain", name: "ReplyPath", verb: "keeps handles" },
} as const satisfies Record<string, Node>;

/** Draws which object is made from which. */
export function objects(): string {
  return drawing("The verbs objects, and which is made from which", 894, 424, [
    ...Object.values(NODES).map(({ x, y, kind, name, verb }) =>
      cell({ x, y, w: W, h: H }, kind, name, verb)
    ),
    arrow([400, 64], [400, 92], [270, 92], [270, 120]),
    arrow([376, 42], [94, 42], [94, 120]),
    arrow([500, 64], [500, 92], [624, 92], [624, 120]),
    arrow([168, 142], [196, 142]),
    // From the protection domain.
    arrow([624, 164], [624, 240]),
    arrow([660, 164], [660, 202], [800, 202], [800, 240]),
    arrow([590, 164], [590, 202], [470, 202], [470, 240]),
    `<polyline class="line" points="470,202 110,202"/>`,
    arrow([110, 202], [110, 240]),
    arrow([290, 202], [290, 240]),
    // From the completion queue.
    arrow([250, 164], [250, 184], [70, 184], [70, 240]),
    arrow([300, 164], [300, 184], [430, 184], [430, 240]),
    // Below.
    arrow([94, 284], [94, 340]),
    arrow([344, 262], [376, 262]),
    arrow([168, 362], [250, 362], [250, 312], [410, 312], [410, 284]),
    arrow([450, 284], [450, 340]),
    arrow([698, 142], [710, 142], [710, 372], [698, 372]),
    arrow([698, 142], [884, 142], [884, 362], [874, 362]),
    label(
      "An arrow goes from a parent to what is made from it. Disposing a parent disposes its children first, the newest first.",
      20,
      412,
      "small faint",
    ),
  ]);
}

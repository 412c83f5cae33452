// Handles of objects on the recorder, and calls of verbs that no class makes.

import * as recorder from "../../provider/recorder.ts";
import { verbs } from "../../../ffi/mod.ts";
import { World } from "../registry/world.ts";

/** The object of a world for each struct whose verbs have ops, by the struct's tag. */
const OBJECTS = {
  ibv_context: "context",
  ibv_pd: "pd",
  ibv_cq: "cq",
  ibv_cq_ex: "cqEx",
  ibv_qp: "raw",
  ibv_qp_ex: "tso",
  ibv_wq: "wq",
  ibv_rwq_ind_table: "table",
  ibv_srq: "srq",
  ibv_xrcd: "xrcd",
  ibv_td: "td",
  ibv_dm: "dm",
  ibv_mw: "mw",
  ibv_flow: "flow",
  ibv_flow_action: "action",
  ibv_counters: "counters",
} as const;

/** Handles by the tags of their structs. */
type Handles = Readonly<Record<keyof typeof OBJECTS, Deno.PointerObject>>;

/** Resets the recorder. Each object is made when its handle is read for the first time. */
export function objects(): Handles {
  recorder.reset();
  const world = new World();
  const handles = Object.entries(OBJECTS).map(([tag, name]) =>
    [tag, { get: () => world[name].unsafeHandle }] as const
  );
  return Object.defineProperties({}, Object.fromEntries(handles)) as Handles;
}

/** Calls a verb with anything. */
export function call(name: string, ...args: unknown[]): unknown {
  const all = verbs() as unknown as Record<string, (...args: unknown[]) => unknown>;
  return all[name]!(...args);
}

import { assertEquals } from "@std/assert";
import { QpState, QpType, type QueuePair } from "../../../../mod.ts";
import { makeEnd, pairOf } from "../../setup.ts";

/** The functions of the snippet. */
export interface Snippet {
  ready(qp: QueuePair): void;
}

/** Makes a queue pair ready. */
export default function call({ ready }: Snippet): void {
  using pair = pairOf((pd) => makeEnd(pd, QpType.UD));
  ready(pair.left.qp);
  assertEquals(pair.left.qp.query().attr.qpState, QpState.RTS);
}

import { assertEquals } from "@std/assert";
import {
  CompletionQueue,
  Context,
  ProtectionDomain,
  type RwqIndirectionTable,
} from "../../../../mod.ts";
import { STUB } from "../../stub.ts";

/** The functions of the snippet. */
export interface Snippet {
  tableOf(pd: ProtectionDomain, cq: CompletionQueue): RwqIndirectionTable;
}

/** Makes a table of work queues. */
export default function call({ tableOf }: Snippet): void {
  using context = Context.open(STUB);
  using pd = new ProtectionDomain(context);
  using cq = new CompletionQueue(context, { cqe: 255 });
  assertEquals(tableOf(pd, cq).size, 4);
}

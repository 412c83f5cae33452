import { assertEquals } from "@std/assert";
import { type Context, QpState, QpType } from "../../../mod.ts";
import { hintModify, hintPost } from "../../../types/queue_pair/hints.ts";

const context = { queryDevice: () => ({}) } as unknown as Context;
const { RESET, INIT, RTR, RTS, SQD, SQE, ERR } = QpState;

Deno.test("A refused post names the state that it needs, in states before it and no other", () => {
  const told = (what: "sends" | "receives"): (string | undefined)[] =>
    [RESET, INIT, RTR, RTS, SQD, SQE, ERR].map((state) => hintPost("EINVAL", state, what, 8))
      .map((hint) => hint?.replace("The queue pair is in state ", ""));
  const none = [undefined, undefined, undefined, undefined];
  const sends = ["RESET", "INIT", "RTR"].map((state) => `${state}: sends need RTS`);
  assertEquals(told("sends"), [...sends, ...none]);
  assertEquals(told("receives"), ["RESET: receives need INIT", undefined, undefined, ...none]);
  assertEquals(hintPost("EIO", RESET, "sends", 8), undefined);
});

Deno.test("A refused change names a way that there is not, and nothing of states it does not know", () => {
  const told = (from: QpState, to: QpState): string | undefined =>
    hintModify("EINVAL", { type: QpType.RC, context }, from, { qpState: to });
  assertEquals(
    told(RESET, RTS),
    "A queue pair cannot go from RESET to RTS: it goes from RESET to INIT, RTR and RTS",
  );
  assertEquals([told(99 as QpState, RTS), told(RTS, ERR), told(INIT, RESET)], [
    undefined,
    undefined,
    undefined,
  ]);
});

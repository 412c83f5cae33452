import { assertEquals } from "@std/assert";
import { type QpAttrInit, QpState, WcStatus, type WorkCompletionError } from "../../../mod.ts";
import { Recovery, type RecoveryParts } from "../../../net/ud/recovery.ts";

const QUEUE = ["drain", "restart", "fail", "serve"];
const STEPS = ["resume", "reset", "drain", "activate", "restart", "refresh"] as const;

/** A recovery that notes what it does. `within` is called in each step. */
function recording(
  state: () => QpState,
  within: (step: string) => void = () => {},
): { readonly recovery: Recovery; readonly steps: string[] } {
  const steps: string[] = [];
  const step = (name: string) => (error?: unknown): void => {
    steps.push(error === undefined ? name : `${name} ${(error as Error).message}`);
    within(name);
  };
  const queue = (names: string[]): object =>
    Object.fromEntries(QUEUE.map((name) => [name, names.includes(name) ? step(name) : () => {}]));
  // Each step of both queues is noted once.
  const queues = [queue(["drain", "restart", "fail"]), queue(["serve"])];
  const qp = {
    query: () => ({ attr: { qpState: state() } }),
    modify: ({ qpState }: QpAttrInit) => step(qpState === QpState.RESET ? "reset" : "resume")(),
  };
  const others = { activate: step("activate"), refresh: step("refresh"), warn: step("warn") };
  const parts = { qp, queues: () => queues, ...others } as unknown as RecoveryParts;
  return { recovery: new Recovery(parts), steps };
}

function failure(
  message: string,
  status: WcStatus = WcStatus.LOC_QP_OP_ERR,
): WorkCompletionError {
  return Object.assign(new Error(message), { completion: { status } }) as WorkCompletionError;
}

for (const [flushed, cause] of [["recv", "send"], ["send", "recv"]] as const) {
  Deno.test(`Recovery names the failed ${cause} and not the ${flushed} that was flushed before`, () => {
    const { recovery, steps } = recording(() => QpState.ERR, (step) => {
      if (step === "drain") recovery[`${cause}Failed`](failure("why"));
    });
    recovery[`${flushed}Failed`](failure("flushed", WcStatus.WR_FLUSH_ERR));
    assertEquals(steps.filter((step) => step.startsWith("warn")), ["warn why"]);
  });
}

const RESTART = ["drain", "reset", "drain", "activate", "restart"];
const END = ["refresh", "serve"];

for (
  const [what, state, steps, resets] of [
    ["the queue pair works on", QpState.RTS, END, 0],
    ["the send queue has stopped", QpState.SQE, ["resume", ...END], 0],
    ["the queue pair has stopped", QpState.ERR, [...RESTART, "warn x", ...END], 1],
  ] as const
) {
  Deno.test(`Recovery makes address handles again after a failed send if ${what}`, () => {
    const { recovery, steps: seen } = recording(() => state);
    recovery.sendFailed(failure("x"));
    assertEquals(seen, [...steps]);
    assertEquals(recovery.resets, resets);
  });
}

Deno.test("Recovery resets the queue pair after a failed receive, whatever its state", () => {
  for (const state of [QpState.RTS, QpState.SQE, QpState.ERR]) {
    const { recovery, steps } = recording(() => state);
    recovery.recvFailed(failure("x"));
    assertEquals(steps, [...RESTART, "warn x", ...END]);
  }
});

/** What happens to a queue pair: failed sends and receives by their message, and successes. */
const OUTAGES: Record<string, [events: string[], warnings: string[]]> = {
  "one failure": [["send a"], ["a"]],
  "several failures": [["send a", "recv b", "send c"], ["a"]],
  "failures with a success between them": [["send a", "ok", "recv b"], ["a", "b"]],
  "two outages of several failures": [["recv a", "send b", "ok", "ok", "send c", "recv d"], [
    "a",
    "c",
  ]],
};

for (const [what, [events, warnings]] of Object.entries(OUTAGES)) {
  Deno.test(`Recovery warns once for each outage: ${what}`, () => {
    const { recovery, steps } = recording(() => QpState.ERR);
    for (const event of events) {
      if (event === "ok") recovery.succeeded();
      const [, kind, message] = /(send|recv) (.)/.exec(event) ?? [];
      if (kind !== undefined) recovery[`${kind as "send" | "recv"}Failed`](failure(message!));
    }
    const seen = steps.filter((step) => step.startsWith("warn"));
    assertEquals(seen, warnings.map((message) => `warn ${message}`));
    assertEquals(recovery.resets, events.filter((event) => event !== "ok").length);
  });
}

Deno.test("Recovery warns of the first error, although the queue pair stops only later", () => {
  for (const success of [false, true]) {
    let state: QpState = QpState.RTS;
    const { recovery, steps } = recording(() => state);
    recovery.sendFailed(failure("first"));
    if (success) recovery.succeeded();
    state = QpState.ERR;
    recovery.recvFailed(failure("flushed"));
    assertEquals(steps.includes(`warn ${success ? "flushed" : "first"}`), true);
  }
});

Deno.test("Recovery takes what it reads itself for the same outage", () => {
  const { recovery, steps } = recording(() => QpState.ERR, (step) => {
    if (step === "serve") return;
    recovery.sendFailed(failure("again"));
    recovery.recvFailed(failure("again"));
    recovery.succeeded();
  });
  recovery.sendFailed(failure("x"));
  recovery.sendFailed(failure("y"));
  const first = [...RESTART, "warn x", ...END];
  assertEquals(steps, [...first, ...RESTART, ...END]);
});

for (const failing of STEPS) {
  Deno.test(`Recovery ends the connection when ${failing} fails, and can fail again`, () => {
    const state = failing === "resume" ? QpState.SQE : QpState.ERR;
    const { recovery, steps } = recording(() => state, (step) => {
      if (step === failing) throw new Error(`no ${step}`);
    });
    recovery.sendFailed(failure("x"));
    assertEquals(steps.at(-1), `fail no ${failing}`);
    const { length } = steps;
    recovery.sendFailed(failure("x"));
    assertEquals(steps.at(-1), `fail no ${failing}`);
    assertEquals(steps.length > length, true);
    assertEquals(steps.includes("serve"), false);
  });
}

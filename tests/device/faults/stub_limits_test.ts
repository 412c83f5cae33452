// The limit on locked memory fails all kinds of queues of a device whose queues are memory of the process.
import { assertEquals } from "@std/assert";
import { outputOf } from "../../subprocess.ts";
import { STUB, stubTest } from "../stub.ts";

/** Makes everything of some size in a process that may lock little, and prints what is said. */
const SCRIPT = `
  import * as v from MOD;
  const context = v.Context.open("${STUB}");
  const pd = new v.ProtectionDomain(context);
  const limit = (bytes) => new Deno.Command("prlimit", {
    args: ["--pid", String(Deno.pid), "--memlock=" + bytes + ":unlimited"],
  }).output();
  const cq = new v.CompletionQueue(context, { cqe: 4, channel: null });
  const cap = { maxSendWr: 8000, maxRecvWr: 8000 };
  const calls = {
    region: () => new v.MemoryRegion(pd, 1 << 20, 1),
    queue: () => new v.CompletionQueue(context, { cqe: 60000, channel: null }),
    extended: () => new v.CompletionQueueEx(context, { cqe: 60000, channel: null }),
    resized: () => cq.resize(60000),
    pair: () => new v.QueuePair(pd, { qpType: v.QpType.RC, sendCq: cq, recvCq: cq, cap }),
    shared: () => new v.SharedReceiveQueue(pd, { maxWr: 8000 }),
    work: () => new v.WorkQueue(pd, { maxWr: 8000, maxSge: 1, cq }),
  };
  for (const bytes of [65536, 0]) {
    await limit(bytes);
    for (const [name, call] of Object.entries(calls)) {
      try { call(); } catch (error) { console.log(name, error.code, error.hint.split(/[:.]/)[1]); }
    }
  }
  await limit("unlimited");
  for (const call of Object.values(calls)) call()?.close();
  context.close();
  console.log("works again");`;

stubTest("A limit on locked memory is named by regions and by all kinds of queues", async () => {
  const unprivileged = ["setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock"];
  const prefix = ["prlimit", "--memlock=unlimited", ...unprivileged];
  const names = ["region", "queue", "extended", "resized", "pair", "shared", "work"];
  assertEquals((await outputOf(SCRIPT, { prefix })).split("\n"), [
    ...names.map((name) => `${name} ENOMEM  65536 bytes ("ulimit -l")`),
    ...names.map((name) =>
      `${name} EPERM  the limit is 0 ("ulimit -l"), and it lacks the capability CAP_IPC_LOCK`
    ),
    "works again",
  ]);
});

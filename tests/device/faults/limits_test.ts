// Limits that the process runs into, set or used up by another process.
import { assertEquals } from "@std/assert";
import { outputOf } from "../../subprocess.ts";
import { deviceTest, RXE } from "../setup.ts";

deviceTest("A limit of locked memory fails memory regions while it is set", async () => {
  // root may lock as much as it likes, unless it gives up this capability
  const unprivileged = ["setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock"];
  const printed = await outputOf(
    `
  import { Context, MemoryRegion, ProtectionDomain, VerbsError } from MOD;
  using context = Context.open("${RXE}");
  using pd = new ProtectionDomain(context);
  const register = () => new MemoryRegion(pd, 1 << 20, 1);
  const limit = (bytes) => new Deno.Command("prlimit", {
    args: ["--pid", String(Deno.pid), "--memlock=" + bytes + ":unlimited"],
  }).output();
  const kept = register();
  await limit(65536);
  for (const make of [register, () => MemoryRegion.createAsync(pd, 1 << 20, 1)]) {
    try { await make(); } catch (error) {
      console.log(error instanceof VerbsError, error.code, error.hint);
    }
  }
  kept.bytes.fill(1);
  await limit("unlimited");
  register().close();
  console.log("works again");`,
    { prefix: ["prlimit", "--memlock=unlimited", ...unprivileged] },
  );
  const hint =
    "The limit on locked memory is likely too small for all regions and queues of the process: " +
    '65536 bytes ("ulimit -l"). The capability CAP_IPC_LOCK lifts it';
  assertEquals(printed, `true ENOMEM ${hint}\ntrue ENOMEM ${hint}\nworks again`);
});

const CM = JSON.stringify(import.meta.resolve("../../../cm.ts"));

/** What takes a descriptor, each with the verbs that fail when an even or an odd number is left. */
const OPENERS: Readonly<Record<string, readonly [string, string]>> = {
  [`Context.open("${RXE}")`]: ["ibv_get_device_list", "ibv_open_device"],
  "new CompletionChannel(context)": ["ibv_create_comp_channel", "ibv_create_comp_channel"],
  "new EventChannel()": ["rdma_create_event_channel", "rdma_create_event_channel"],
};

for (const [opener, verbs] of Object.entries(OPENERS)) {
  deviceTest(`${opener} fails with EMFILE and a hint when no descriptor is left`, async () => {
    const printed = await outputOf(
      `
    import { CompletionChannel, CompletionQueue, Context, VerbsError } from MOD;
    import { EventChannel } from ${CM};
    using context = Context.open("${RXE}");
    const cq = new CompletionQueue(context, { cqe: 4 });
    const waits = cq.completions({ signal: AbortSignal.timeout(500) }).next();
    waits.catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 50));
    const open = [];
    for (let round = 0; round < 2; round++) {
      if (round === 1) open.push(Deno.openSync("/dev/null"));
      try { for (;;) open.push(${opener}); } catch (error) {
        console.log(error instanceof VerbsError, error.verb, error.code, error.hint);
      }
      open.pop().close();
    }
    ${opener}.close();
    for (const each of open) each.close();
    console.log(await waits.catch((error) => error.name));`,
      { prefix: ["prlimit", "--nofile=64"] },
    );
    const lines = printed.split("\n");
    assertEquals(lines.pop(), "TimeoutError");
    const hint = 'The process has no file descriptor left: "ulimit -n" shows the limit';
    assertEquals(lines.toSorted(), verbs.map((verb) => `true ${verb} EMFILE ${hint}`));
  });
}

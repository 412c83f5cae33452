// Limits that the process runs into, set or used up by another process.
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  AddressHandle,
  CompletionChannel,
  CompletionQueue,
  MemoryRegion,
  type NativeResource,
  ProtectionDomain,
  QpType,
  QueuePair,
  SharedReceiveQueue,
  VerbsError,
} from "../../../mod.ts";
import { outputOf } from "../../subprocess.ts";
import { denoCommand, start } from "../programs.ts";
import { deviceTest, openRxe, RXE, selfAddress } from "../setup.ts";
import { controlGroup } from "./control_group.ts";

const HOG = new URL("hog.ts", import.meta.url).pathname;
const LIMIT = 20;

/** What is counted as an object, each with what it is made from. */
const MAKERS: Readonly<
  Record<string, (pd: ProtectionDomain, cq: CompletionQueue) => NativeResource>
> = {
  ibv_alloc_pd: (pd) => new ProtectionDomain(pd.context),
  ibv_reg_mr: (pd) => new MemoryRegion(pd, 4096, 0),
  ibv_create_comp_channel: (pd) => new CompletionChannel(pd.context),
  ibv_create_cq: (pd) => new CompletionQueue(pd.context, { cqe: 4, channel: null }),
  ibv_create_srq: (pd) => new SharedReceiveQueue(pd, { maxWr: 4 }),
  ibv_create_qp: (pd, cq) => {
    const cap = { maxSendWr: 4, maxRecvWr: 4 };
    return new QueuePair(pd, { type: QpType.RC, sendCq: cq, recvCq: cq, cap });
  },
  ibv_create_ah: (pd) => new AddressHandle(pd, selfAddress(pd.context)),
};

/** Channels are counted by descriptors only. */
const UNCOUNTED = ["ibv_create_comp_channel"];

/** Calls back while another process has used up what the group may have. */
async function withHog(prefix: readonly string[], body: (count: number) => void): Promise<void> {
  const [command, ...args] = [...prefix, ...denoCommand(HOG, [RXE])];
  await using hog = start(command!, ...args);
  const { count, code } = await hog.hear() as { count: number; code: string };
  assertEquals(code, "EAGAIN");
  body(count);
  await hog.endInput();
  await hog.ending;
}

deviceTest("Objects that another process has used up fail with EAGAIN", async () => {
  using context = openRxe();
  using pd = new ProtectionDomain(context);
  using cq = new CompletionQueue(context, { cqe: 4 });
  await using group = await controlGroup();
  group.limit(`hca_object=${LIMIT}`);
  await withHog(group.prefix, (count) => {
    assert(count > 0 && count <= LIMIT, `${count}`);
    group.inside(() => {
      for (const [verb, make] of Object.entries(MAKERS)) {
        if (UNCOUNTED.includes(verb)) {
          make(pd, cq).close();
          continue;
        }
        const error = assertThrows(() => make(pd, cq), VerbsError, verb);
        assertEquals([error.verb, error.code], [verb, "EAGAIN"]);
        assertStringIncludes(error.hint ?? "", "rdma.max");
      }
    });
    for (const make of Object.values(MAKERS)) make(pd, cq).close();
  });
  group.inside(() => {
    for (const make of Object.values(MAKERS)) make(pd, cq).close();
  });
});

deviceTest("A device that another process may not share fails to open with EAGAIN", async () => {
  await using group = await controlGroup();
  group.limit("hca_handle=1 hca_object=3");
  await withHog(group.prefix, () => {
    const error = assertThrows(() => group.inside(() => openRxe()), VerbsError);
    assertEquals([error.verb, error.code], ["ibv_open_device", "EAGAIN"]);
    assertStringIncludes(error.hint ?? "", "rdma.max");
    openRxe().close();
  });
  group.inside(() => openRxe().close());
});

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
  kept.bytes().fill(1);
  await limit("unlimited");
  register().close();
  console.log("works again");`,
    { prefix: ["prlimit", "--memlock=unlimited", ...unprivileged] },
  );
  const hint = 'The limit on locked memory is likely too small ("ulimit -l")';
  assertEquals(printed, `true ENOMEM ${hint}\ntrue ENOMEM ${hint}\nworks again`);
});

/** What takes a descriptor, each with the verbs that fail when an even or an odd number is left. */
const OPENERS: Readonly<Record<string, readonly [string, string]>> = {
  [`Context.open("${RXE}")`]: ["ibv_get_device_list", "ibv_open_device"],
  "new CompletionChannel(context)": ["ibv_create_comp_channel", "ibv_create_comp_channel"],
};

for (const [opener, verbs] of Object.entries(OPENERS)) {
  deviceTest(`${opener} fails with EMFILE and a hint when no descriptor is left`, async () => {
    const printed = await outputOf(
      `
    import { CompletionChannel, CompletionQueue, Context, VerbsError } from MOD;
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

// Objects that are open when the program ends are closed, whatever waits for them. The process may go on without the program.
import { assertEquals } from "@std/assert";
import { outputOf } from "../../subprocess.ts";

const url = (path: string): string =>
  JSON.stringify(new URL(`../../../${path}`, import.meta.url).href);

const OPTIONS = { importMap: true, prefix: ["timeout", "20"] };

const PROGRAM = `import * as recorder from ${url("tests/provider/recorder.ts")};
  import * as verbs from MOD;
  import { CmId, EventChannel, PortSpace } from ${url("cm.ts")};
  import { fakesLeft, FakeNet } from ${url("tests/library/cm/fake.ts")};
  import { listenUd } from ${url("net/mod.ts")};
  const { Context, CompletionChannel, CompletionQueue, ProtectionDomain, MemoryRegion } = verbs;
  const { LinkLayer, QpType, QueuePair } = verbs;
  recorder.answer("ibv_query_port", { link_layer: LinkLayer.ETHERNET });
  const ended = [];
  const wait = (what, waiting) => waiting.catch(() => {}).finally(() => ended.push(what));

  // Disposed before, and kept by a wait that has not ended yet.
  const early = Context.open("recorder0");
  wait("events", early.events().next());
  const context = Context.open("recorder0");
  const pd = new ProtectionDomain(context);
  const channel = new CompletionChannel(context);
  const cq = new CompletionQueue(context, { cqe: 4, channel });
  const mr = new MemoryRegion(pd, new Uint8Array(64), 0);
  const cap = { maxSendWr: 4, maxRecvWr: 4 };
  const qp = new QueuePair(pd, { qpType: QpType.RC, sendCq: cq, recvCq: cq, cap });
  wait("completions", cq.completions().next());
  wait("queue", channel.getCqEvent());
  const cmChannel = new EventChannel();
  const net = new FakeNet("recorder0", cmChannel, () => qp);
  const id = new CmId(cmChannel, PortSpace.TCP);
  wait("connections", cmChannel.events().next());
  const conn = await listenUd({ device: "recorder0", qkey: 7 });
  wait("datagrams", conn.receive());
  // Its destruction fails; the others go on.
  const stubborn = Context.open("recorder0");
  await new Promise((resolve) => setTimeout(resolve, 50));
  early.close();
  const before = recorder.live() > 10 && fakesLeft() > 0;
  // The first is that of the connection, which is tried again.
  recorder.fail("ibv_close_device", "EBUSY", { times: 2 });
  END
  await new Promise((resolve) => setTimeout(resolve, 50));
  console.log(ended.sort().join());`;

const LEFT = `console.log(before, recorder.live(), fakesLeft(), recorder.violations().length);`;

Deno.test("Objects that are open at unload are closed, although something waits for them", async () => {
  const end = `dispatchEvent(new Event("unload")); ${LEFT}
    console.log([early, context, pd, channel, cq, mr, qp, cmChannel, id].every((one) => one.disposed));`;
  const lines = (await outputOf(PROGRAM.replace("END", end), OPTIONS)).split("\n");
  const waits = "completions,connections,datagrams,events,queue";
  // The one that fails is left.
  assertEquals(lines, ["true 1 0 0", "true", waits]);
});

Deno.test("Deno.exit() closes what is open before the process ends", async () => {
  // It is called after the listener of the library.
  const end = `addEventListener("unload", () => { ${LEFT} }); Deno.exit();`;
  assertEquals(await outputOf(PROGRAM.replace("END", end), OPTIONS), "true 1 0 0");
});

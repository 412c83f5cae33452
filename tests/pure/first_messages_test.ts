// What the compiler says of a mistake: the first message names what is missing or wrong, and nothing of the library's inside.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { runDeno } from "../subprocess.ts";

/** Mistakes, and what the message names. */
const MISTAKES: readonly (readonly [mistake: string, message: string])[] = [
  ["new QueuePair(pd, { qpType: QpType.RC, sendCq: cq, recvCq: cq })", "Property 'cap' is missing"],
  ["new QueuePair(pd, { qpType: QpType.UD, sendCq: cq, recvCq: cq })", "Property 'cap' is missing"],
  ["new QueuePair(pd, { qpType: QpType.RAW_PACKET, sendCq: cq })", "Property 'cap' is missing"],
  ["new QueuePair(pd, { qpType: QpType.RC, cap: {} })", 'Pick<QpCap, "maxSendWr">'],
  [
    "new QueuePair(pd, { qpType: QpType.RC, sendCq: cq, recvCq: cq, cap: { maxSendWr: 1 } })",
    "Property 'maxRecvWr' is missing",
  ],
  ["new QueuePair(pd, { sendCq: cq, recvCq: cq, cap })", "Property 'qpType' is missing"],
  ["new QueuePair(pd, { qpType: QpType.RC, send_cq: cq, cap })", "Did you mean to write 'sendCq'?"],
  ["new QueuePair(pd)", "An argument for 'init' was not provided"],
  [
    "new QueuePairEx(pd, { qpType: QpType.RC, sendCq: cq, recvCq: cq, cap })",
    "Property 'sendOpsFlags' is missing",
  ],
  ["new CompletionQueue(context, 16)", "not assignable to parameter of type 'CqInitAttr'"],
  ["new CompletionQueueEx(context, 16)", "not assignable to parameter of type 'CqInitAttrEx'"],
  ["new AddressHandle(pd, gid)", "not assignable to parameter of type 'AhAttrInit'"],
  ["new ProtectionDomain(16)", "not assignable to parameter of type 'Context'"],
  ["new ProtectionDomain()", "An argument for 'context' was not provided"],
  ["new DeviceMemory(context, 16)", "not assignable to parameter of type 'AllocDmAttr'"],
  ['new WorkCompletionList("16")', "not assignable to parameter of type 'number'"],
  ["new MemoryRegion(pd, 4096)", "An argument for 'access' was not provided"],
  ['new CmId(channel, "TCP")', "not assignable to parameter of type 'PortSpace"],
];

const BEGIN = `import {
  AddressHandle, CompletionQueue, CompletionQueueEx, type Context, DeviceMemory, type Gid, MemoryRegion,
  ProtectionDomain, QpType, QueuePair, QueuePairEx, WorkCompletionList,
} from ${JSON.stringify(import.meta.resolve("../../mod.ts"))};
import { CmId, type EventChannel } from ${JSON.stringify(import.meta.resolve("../../cm.ts"))};
declare const pd: ProtectionDomain, cq: CompletionQueue, context: Context, gid: Gid, channel: EventChannel;
const cap = { maxSendWr: 1, maxRecvWr: 1 };
`;

/** What the compiler says of each line, without colours. */
async function messagesOf(lines: readonly string[]): Promise<string[]> {
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    await Deno.writeTextFile(file, `${BEGIN}${lines.join("\n")}\n`);
    const { code, stderr } = await runDeno(["check", "--no-lock", file]);
    assertEquals(code, 1);
    const before = BEGIN.split("\n").length;
    const all = stderr.split(/^(?=TS\d+ \[ERROR\])/m);
    return lines.map((_, i) => all.find((text) => text.includes(`${file}:${before + i}:`)) ?? "");
  } finally {
    await Deno.remove(file);
  }
}

const messages = await messagesOf(MISTAKES.map(([mistake]) => mistake));

for (const [i, [mistake, message]] of MISTAKES.entries()) {
  Deno.test(`The compiler says of "${mistake}": ${message}`, () => {
    assertStringIncludes(messages[i]!, message);
    // An overload that only the library may use would be shown.
    assertMatch(messages[i]!, /^(?!.*(?:overload|Adopted|Provider(?:Qp|Cq)|Made))/si);
  });
}

// Causes that classes of verbs share: all constructors and other calls under each of them. Those of the class name the cause,
// and no others do.
import * as recorder from "../../provider/recorder.ts";
import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { constants } from "node:os";
import {
  CompletionQueue,
  MemoryRegion,
  PortState,
  ProtectionDomain,
  SharedReceiveQueue,
  VerbsError,
} from "../../../mod.ts";
import { RecorderObjects } from "../../provider/objects.ts";
import { runDeno, stdOptions } from "../../subprocess.ts";
import { type Answers, hintOf, TRIED, type Tried } from "./walk.ts";

const { EIO, EMFILE, ENFILE, ENODEV, ENOMEM, ENOSPC, EPERM, ETIMEDOUT, EHOSTUNREACH } =
  constants.errno;

/** The calls whose verb fails with a hint of that kind. */
async function callsThatSay(
  errno: number,
  words: RegExp,
  answers: Answers = {},
  tried: readonly Tried[] = TRIED,
): Promise<string[]> {
  const found: string[] = [];
  for (const call of tried) {
    if (words.test(await hintOf(call, errno, answers) ?? "")) found.push(call.name);
  }
  return [...new Set(found)].sort();
}

Deno.test("The walk is of all calls whose verbs can fail", () => {
  assertEquals(TRIED.length > 90, true, `${TRIED.length}`);
});

const named = (test: (tried: Tried) => boolean): string[] =>
  [...new Set(TRIED.filter(test).map(({ name }) => name))].sort();

/** The queue may have overrun, whatever the errno says. */
const isPoll = ({ verb }: Tried): boolean => /^ibv_(start_poll|poll_cq)$/.test(verb);
/** The device is not open yet. */
const isBefore = ({ verb }: Tried): boolean =>
  /^ibv_(open_device|import_device|get_device_list)$/.test(verb);

for (
  const [code, errno, words] of [
    ["EMFILE", EMFILE, /The process has no file descriptor left: "ulimit -n"/],
    ["ENFILE", ENFILE, /The system has no file descriptor left/],
  ] as const
) {
  Deno.test(`${code} has the same cause for all verbs`, async () => {
    assertEquals(await callsThatSay(errno, words), named((tried) => !isPoll(tried)));
  });
}

for (const [code, errno] of [["EIO", EIO], ["ENODEV", ENODEV]] as const) {
  Deno.test(`${code} of any verb of an open device says that the device is gone`, async () => {
    const expected = named((tried) => !isPoll(tried) && !isBefore(tried));
    assertEquals(await callsThatSay(errno, /^The device is gone/), expected);
  });
}

/** What pins memory: regions, and all kinds of queues. */
const PINNING = new RegExp(
  "^(new MemoryRegion( \\(buffer\\))?|MemoryRegion.createAsync|new (MemoryRegionEx|ImplicitMemoryRegion)|reregMr" +
    "|new AllocatedBufferRegion|new (CompletionQueue|QueuePair)(Ex)?( \\(.*\\))?|CompletionQueue#resize" +
    "|new (SharedReceive|Work)Queue( \\(.*\\))?)$",
);

/** Without the right to lock any amount of memory, and with a limit in bytes. */
function locked(bytes: number): string[] {
  const limited = ["prlimit", `--memlock=${bytes}:${bytes}`];
  const isRoot = Deno.uid() === 0;
  return isRoot
    ? [...limited, "setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock"]
    : limited;
}

/** What the calls say in a process with a limit on locked memory. */
async function hintsWhere(bytes: number, errno: number): Promise<Map<string, string>> {
  const args = ["run", "--quiet", "--no-check", "--allow-all", ...stdOptions()];
  const walk = new URL("walk.ts", import.meta.url).pathname;
  const ended = await runDeno([...args, walk, `${errno}`], { prefix: locked(bytes) });
  assertEquals(ended.code, 0, ended.stderr);
  return new Map(Object.entries(JSON.parse(ended.stdout)));
}

for (
  const [code, errno, bytes, words] of [
    ["ENOMEM", ENOMEM, 65_536, /^The limit on locked memory is likely too small .*: 65536 bytes/],
    ["EPERM", EPERM, 0, /^The process may lock no memory: the limit is 0/],
  ] as const
) {
  Deno.test(`${code} of all that pins memory names the limit on locked memory of ${bytes} bytes`, async () => {
    const hints = await hintsWhere(bytes, errno);
    const found = [...hints].filter(([, hint]) => words.test(hint));
    const names = new Set(found.map(([call]) => call.slice(0, call.lastIndexOf(": "))));
    assertEquals([...names].sort(), named(({ name }) => PINNING.test(name)));
  });
}

/** How many objects the device has, and the attribute that tells it. */
const COUNTS: Answers = {
  ibv_query_device: {
    ...{ max_pd: 2, max_cq: 3, max_qp: 4, max_srq: 5, max_mr: 6, max_mw: 7, max_ah: 8 },
    ...{
      max_mcast_grp: 9,
      max_qp_wr: 100,
      max_sge: 9,
      max_srq_wr: 100,
      max_srq_sge: 9,
      max_cqe: 100,
    },
  },
  ibv_query_device_ex: { max_wq_type_rq: 10, "rss_caps.max_rwq_indirection_tables": 11 },
};

/** What makes an object of which a device has so many. */
const COUNTED: readonly (readonly [calls: RegExp, words: string])[] = [
  [/^new (Protection|Parent)Domain$/, "protection domain: it has 2 (maxPd)"],
  [/^new CompletionQueue(Ex)?$/, "completion queue: it has 3 (maxCq)"],
  [/^new QueuePair/, "queue pair: it has 4 (maxQp)"],
  [/^new SharedReceiveQueue/, "shared receive queue: it has 5 (maxSrq)"],
  [/^new \w*Region(Ex)?( |$)|^MemoryRegion.createAsync$/, "memory region: it has 6 (maxMr)"],
  [/^new MemoryWindow$/, "memory window: it has 7 (maxMw)"],
  [/^(new AddressHandle|AddressHandle\.\w+)$/, "address handle: it has 8 (maxAh)"],
  [/^QueuePair#attachMcast$/, "multicast group: it has 9 (maxMcastGrp)"],
  [/^new WorkQueue$/, "work queue: it has 10 (maxWqTypeRq)"],
  [
    /^new RwqIndirectionTable$/,
    "indirection table: it has 11 (rssCaps.maxRwqIndirectionTables)",
  ],
];

Deno.test("ENOSPC of all that makes an object names how many the device has", async () => {
  for (const tried of TRIED) {
    const counted = COUNTED.find(([calls]) => calls.test(tried.name));
    const hint = await hintOf(tried, ENOSPC, COUNTS) ?? "";
    const found = /, or the device no (.*), of all programs together/.exec(hint)?.[1];
    assertEquals(found, counted?.[1], `${tried.name}: ${hint}`);
  }
});

Deno.test("A device that gives no number of objects names none", async () => {
  for (const max_qp of [0, 2 ** 31 - 1]) {
    const answers = { ibv_query_device: { ...COUNTS.ibv_query_device, max_qp } };
    const tried = TRIED.filter(({ verb }) => verb === "ibv_create_qp");
    assertEquals(await callsThatSay(ENOSPC, /queue pair: it has/, answers, tried), []);
  }
});

/** What makes an object of a device, each with how many the device has of it. */
const MAKERS: readonly (readonly [
  verb: Parameters<typeof recorder.fail>[0],
  attribute: string,
  make: (fixture: RecorderObjects) => unknown,
])[] = [
  ["ibv_alloc_pd", "max_pd", ({ context }) => new ProtectionDomain(context)],
  ["ibv_create_cq", "max_cq", ({ context }) => new CompletionQueue(context, { cqe: 1 })],
  ["ibv_create_srq", "max_srq", ({ pd }) => new SharedReceiveQueue(pd, { maxWr: 1 })],
  ["ibv_reg_mr", "max_mr", ({ pd }) => new MemoryRegion(pd, 64, 0)],
];

Deno.test("EINVAL names the number of objects only where the program has most of them", () => {
  const usedUp = /^The device may have no .* left: it has 8 .*, and this one has [67]$/;
  for (const [verb, attribute, make] of MAKERS) {
    for (const [most, words] of [[8, usedUp], [80, /^$/]] as const) {
      using fixture = new RecorderObjects();
      void [fixture.pd, fixture.mr, fixture.cq];
      for (let i = 0; i < 6; i++) make(fixture);
      const limits = { max_cqe: 9, max_srq_wr: 9, max_srq_sge: 9 };
      recorder.answer("ibv_query_device", { ...limits, [attribute]: most });
      recorder.fail(verb, "EINVAL", { times: 1 });
      assertMatch(assertThrows(() => make(fixture), VerbsError).hint ?? "", words);
    }
  }
});

/** What looks for a way from a port. */
const FROM_PORT =
  /^(new AddressHandle|AddressHandle\.\w+|resolveEthL2FromGid|QueuePair#modify|ReplyPath\S*)$/;

Deno.test("A port that is down is the cause of all that finds no way from it", async () => {
  const answers = { ibv_query_port: { state: PortState.DOWN, gid_tbl_len: 8, pkey_tbl_len: 8 } };
  const down = /^Port 1 of recorder0 is DOWN: nothing is sent while its link is down$/;
  for (const errno of [ETIMEDOUT, EHOSTUNREACH]) {
    const expected = named(({ name }) => FROM_PORT.test(name));
    assertEquals(await callsThatSay(errno, down, answers), expected);
  }
  const init = { name: "initAhFromWc", verb: "ibv_init_ah_from_wc" };
  assertMatch(await hintOf(init, constants.errno.EINVAL, answers) ?? "", down);
});

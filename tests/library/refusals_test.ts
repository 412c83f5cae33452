// Every argument and attribute of the binding, given what it is not: the error names it, and nothing is made or changed.
// Values that do not go together are in the tests of each class.

import { assertEquals, assertGreater } from "@std/assert";
import * as verbs from "../../mod.ts";
import * as recorder from "../provider/recorder.ts";
import { isOfEngine } from "../engine_words.ts";
import { isNamed } from "./refusals.ts";
import { idle } from "./registry/recorder_device.ts";
import {
  allCalls,
  type Call,
  disposeResult,
  invoke,
  isPlain,
  type Path,
  pathsOf,
  placeOf,
  type Prepared,
  putGetter,
  valueAt,
} from "./registry/calls.ts";
import { ObjectSet } from "./registry/object_set.ts";

const calls = allCalls().filter(({ callable: { module } }) => !/^(cli|ffi|testing)/.test(module));

/** Limits of attributes; those of options of ./net are in tests/pure/net. Others take all numbers of 32 or 64 bits, or have a limit that depends on the object. */
const LIMITS: Readonly<Record<string, string>> = {
  "0 to 1": "enSqdAsyncNotify",
  "0 to 7": "retryCnt rnrRetry",
  "0 to 31": "altTimeout minRnrTimer",
  "0 to 63": "logAlignReq",
  "0 to 255": "dlidPathBits gidIndex hopLimit maxDestRdAtomic ph rdAtomic sgidIndex srcPathBits " +
    "staticRate trafficClass",
  "0 to 65535": "altPkeyIndex cqCount cqPeriod dlid dstPort lid maxTsoHeader pkeyIndex priority " +
    "slid srcPort typicalPktSz vlanTag",
  "0 to 1048575": "flowLabel",
  "0 to 16777215": "destQpNum psn qpNum remoteQpn remoteSrqn rqPsn sourceQpn sqPsn",
  "0 to 4294967295":
    "access cpuId createFlags immData invalidateRkey maxRecvSge maxRecvWr maxSendSge " +
    "maxSendWr qkey remoteQkey rkey sendFlags sendOpsFlags",
  "1 to 2147483647": "capacity cqe connectTimeout",
  // Of a wait that blocks, and of one that does not.
  "0 to (2147483647|1000)": "spinMicroseconds",
  // Of a channel, and of a listener.
  "1 to (2147483647|1048576)": "maxPending",
  // Of a reply path, and of a socket.
  "1 to (16777216|1048576)": "maxPeers",
  // Of a queue pair, of a call that blocks, and of a connection.
  "(0|1) to (31|2147483647)": "timeout",
};

const limitOf = new Map(
  Object.entries(LIMITS).flatMap(([limit, names]) => names.split(" ").map((name) => [name, limit])),
);

/** Attributes without which most calls cannot do. */
const NEEDED = new Set(
  ("access action aesKey ah bindInfo capacity compareAdd counterDesc counters cq cqCount cqPeriod " +
    "cqe dgid dlidPathBits dstIp dstPort flagsMask gid grh handle icvLen index " +
    "invalidateRkey lid maxNumTags maxOps maxRecvWr maxSendWr maxWr mr mtu mwAccessFlags " +
    "opcode options port portNum qpNum qpType rateLimit rdAtomic recvCq remoteQkey remoteQpn " +
    "remoteSrqn rxHashFieldsMask rxHashKey sendCq sgidIndex slid srcIp srcPort " +
    "tag tagId tmCap transport type val vendorId wcFlags xrcd").split(" "),
);

/** Calls that do without. */
const DISPENSABLE: readonly RegExp[] = [
  /^((Opened)?QueuePair|SharedReceiveQueue)#modify(Async| \(ud\))?: 0\.(cap\.)?\w+$/,
  /^reregMr: 1\.\w+$/,
  // Filters of flows choose what they look at.
  /(val|mask)\.(dst|src)(Ip|Port)$/,
  // They have a default.
  /^(new OpenedQueuePair|getAddrInfo|CmId#resolveAddrInfo): \d\.qpType$/,
  // A request is complete when it is posted.
  /^SendRequestList#set \(.*: 1\.(?!opcode)\w+$/,
  /^new (CompletionQueueEx|EfaCompletionQueue): 1\.wcFlags$|^SrdQueuePair#activate: 0.portNum$/,
  /^(connectRc|listen).*: 0\.(portNum|port)$/,
  // The completion has none.
  /Async: \d\.grh$/,
  /^new SrdQueuePair: 1\.sendOpsFlags$/,
  /^new Flow( \(sniffer\))?: 1\.type$/,
];

/** What a place may not have, by the value that it has; `"nothing"` takes it away. */
function wrongFor(id: string, key: string | number, value: unknown): Record<string, unknown> {
  const isNeeded = NEEDED.has(`${key}`) && !DISPENSABLE.some((pattern) => pattern.test(id));
  const none = { null: null, ...isNeeded && { nothing: undefined } };
  switch (typeof value) {
    case "number":
    case "bigint": {
      const more = limitOf.has(`${key}`) && { "beyond its limit": Number.MAX_SAFE_INTEGER };
      return { ...none, text: "1", NaN, half: 0.5, negative: -1, huge: 2n ** 64n, ...more };
    }
    case "boolean":
    case "string":
      return { ...none, "a number": 1 };
    case "object":
      if (Array.isArray(value)) return { ...none, "a number": 1, "a list of null": [null] };
      if (!isPlain(value)) return { ...none, text: "1", "an empty object": {} };
      return { ...none, "a number": 1, "an unknown attribute": { ...value, maxSendWR: 1 } };
  }
  return {};
}

/** What is taken although it looks wrong. */
const TAKEN: readonly RegExp[] = [
  // Completions and packets may have more: callers pass what they have.
  /(\w*FromWc\w*|ReplyPath#(to|toAsync|attr)): \d is an unknown attribute$/i,
  /(rssInput|workQueueFor|RxHash#hash|UdConn#send): \d is an unknown attribute$/i,
  /^UdConn#sendMany: 0.0.1 is an unknown attribute$/,
  // Left out.
  /\.(channel|offset|dmOffset|length|inner|iova|qkey|maxDestRdAtomic|maxRdAtomic|pathMtu) is null$/,
  // Pure functions, for logs and for predictions.
  /^names?Of: |^nodeTypeStr: 0 is negative$|^ToeplitzKey#hash: 1 is half$|rxHashFieldsMask is negative$/,
  /\.(protocol|symmetric) is |(rssInput|workQueueFor|RxHash#hash): \d is a number$/i,
  // No file.
  /^new XrcDomain: 1\.fd is negative$/,
  // An errno of the program may be negative.
  /^CmId#writeCmEvent: 1 is negative$/,
];

/** Words for a place other than its name. */
const WORDS: readonly (readonly [names: RegExp, words: string])[] = [
  [/^(ahAttr|altAhAttr|dstIp|gid|source|srcAddr|srcIp)$/, "address|length"],
  [
    /^(mask|val|type|qpType)$/,
    "filter|does not belong|sendCq is missing|XRC_RECV|header|tagId|counters|action",
  ],
  [/^(sge|specs|opcode)$/, "addr|spec|needs|has no attribute"],
  [/^(ah|moderate|cqCount|cqPeriod)$/, "address handle|moderat"],
  [/^(slid|sl|dlidPathBits|wcFlags)$/, "slid|sl|dlidPathBits|wcFlags"],
];

function wordsOf(path: Path, what: string): RegExp {
  const name = path.at(-1)!;
  if (what === "an unknown attribute") return /"maxSendWR"/;
  if (typeof name === "number") return /./;
  if (what === "beyond its limit") return new RegExp(`within ${limitOf.get(name)!}`);
  return new RegExp(
    [name, ...WORDS.filter(([names]) => names.test(name)).map(([, w]) => w)].join("|"),
  );
}

/** Calls that are made once with the same objects: they end what they are made on, or what was made for them is left. */
const ONE_EACH =
  /#(completions|events|getCqEventSync|getCqEvent|waitSync|attachMcast|detachMcast|leave|leaveMulticast|joinMulticast|join)( \(extended\))?$/;

/** Verbs that only look, and those that end what the caller closes. */
const HARMLESS = /query|get_|free|close|destroy|dealloc|dereg/;

/** What connections do for what came before, in each turn of the event loop. A refusal may wait for the next one. */
const BY_ITSELF = /^ibv_(poll_cq|req_notify_cq|ack_cq_events|post_(send|recv))$/;

/** What is wrong with a call that must be refused. */
async function verdict(call: Call, prepared: Prepared, words: RegExp): Promise<string[]> {
  recorder.take();
  const made: string[] = [];
  try {
    const result = Promise.try(invoke, call, prepared);
    made.push(...recorder.take().map(({ verb }) => verb));
    disposeResult(await result);
    return ["it is taken"];
  } catch (error) {
    const { name, message } = error as Error;
    const later = recorder.take().map(({ verb }) => verb).filter((verb) => !BY_ITSELF.test(verb));
    made.push(...later);
    const wrong = made.filter((verb) => !HARMLESS.test(verb));
    if (wrong.length > 0) return [`it calls ${wrong}`];
    const isOurs = /^(Type|Range|Syntax)Error$/.test(name) && isNamed(message) &&
      !isOfEngine(error as Error);
    return isOurs && words.test(message) ? [] : [`${name}: ${message}`];
  }
}

/** Runs something with new objects, and closes them: then nothing is left. */
async function withObjects<T>(run: (set: ObjectSet) => Promise<T>): Promise<T> {
  recorder.reset();
  const set = new ObjectSet();
  try {
    return await run(set);
  } finally {
    set.close();
    await idle();
    assertEquals([recorder.live(), recorder.violations()], [0, []]);
  }
}

Deno.test("Each argument and attribute refuses what it is not, by its name", async () => {
  const found: string[] = [];
  let tried = 0;
  const attempt = async (set: ObjectSet, call: Call, path: Path, id: string): Promise<void> => {
    const prepared = await call.prepare(set);
    const [place, key] = placeOf(prepared.args, path);
    for (const [what, wrong] of Object.entries(wrongFor(id, key, place[key]))) {
      if (TAKEN.some((pattern) => pattern.test(`${id} is ${what}`))) continue;
      tried++;
      const right = place[key];
      if (what === "nothing") delete place[key];
      else place[key] = wrong;
      const wrongs = await verdict(call, prepared, wordsOf(path, what));
      found.push(...wrongs.map((text) => `${id} is ${what}: ${text}`));
      place[key] = right;
    }
  };
  for (const call of calls) {
    const paths = await withObjects(async (set) => pathsOf((await call.prepare(set)).args));
    const all = ONE_EACH.test(call.name) ? paths.map((path) => [path]) : [paths];
    for (const some of all) {
      await withObjects(async (set) => {
        for (const path of some) {
          await attempt(set, call, path, `${call.name}: ${path.join(".")}`);
        }
      });
    }
  }
  assertEquals(found, []);
  assertGreater(tried, 2500);
});

/** Objects of another context that are taken. */
const FOREIGN: readonly RegExp[] = [
  // The first object chooses the context.
  /^(new |adviseMr|resolve|initAh|\w+\.\w+)[^.]*: 0$|^new OpenedQueuePair: 0.xrcd$/,
  // A request is checked when it is posted.
  /^(SendRequestList#set|WrBuilder#)/,
  // Connections meet queue pairs by the names of their devices, and find channels of their own.
  /^CmId#|^(efaAhNumber|queryEfa\w+): 0$/,
  // Devices check keys, and a GRH may be in memory of anybody.
  /\.sge$|(mr|mw)$|^ReplyPath#(toAt: 2|writeAttr: 3)$/,
];

/** Members of disposed objects that work: they need no device. */
const WITHOUT_DEVICE: readonly RegExp[] = [
  /^Resource#(disposed|close|toString|\[Symbol.dispose\]): this$/,
  /^CmId#(channel|qp|state): this$/,
  /^((Opened)?QueuePair#address|ReplyPath#size|RwqIndirectionTable#(size|logIndTblSize)): this$/,
];

/** The objects that a call needs, its own one by `"this"`. */
async function objectsOf(call: Call): Promise<(Path | "this")[]> {
  const { self, args } = await withObjects((set) => call.prepare(set));
  const given = pathsOf(args).filter((path) => valueAt(args, path) instanceof verbs.Resource);
  return self instanceof verbs.Resource ? ["this", ...given] : given;
}

for (
  const [title, excused, words, spoil] of [
    [
      "Each object that a call takes must be of the same context",
      [/: this$/, ...FOREIGN],
      /another|of the same context/,
      async (
        set: ObjectSet,
        call: Call,
        prepared: Prepared,
        path: Path | "this",
      ): Promise<void> => {
        const [place, key] = placeOf(prepared.args, path as Path);
        place[key] = valueAt((await call.prepare(set.other)).args, path as Path);
      },
    ],
    [
      "Each call refuses disposed objects, its own and those that it is given",
      WITHOUT_DEVICE,
      /disposed/,
      (_: ObjectSet, __: Call, { self, args }: Prepared, path: Path | "this"): void => {
        ((path === "this" ? self : valueAt(args, path)) as verbs.Resource).close();
      },
    ],
  ] as const
) {
  Deno.test(title, async () => {
    const found: string[] = [];
    for (const call of calls.filter(({ callable: { kind } }) => kind !== "inspect")) {
      for (const path of await objectsOf(call)) {
        const id = `${call.name}: ${path === "this" ? path : path.join(".")}`;
        if (excused.some((pattern) => pattern.test(id))) continue;
        await withObjects(async (set) => {
          const prepared = await call.prepare(set);
          await spoil(set, call, prepared, path);
          const wrongs = await verdict(call, prepared, words);
          found.push(...wrongs.map((text) => `${id}: ${text}`));
        });
      }
    }
    assertEquals(found, []);
  });
}

/** Has a function called each time that an attribute is read. */
function watch(args: unknown[], path: Path, onRead: () => void): void {
  const value = valueAt(args, path);
  putGetter(args, path, () => {
    onRead();
    return value;
  });
}

Deno.test("Each attribute is read once, and before the objects are used that its getter may close", async () => {
  const found: string[] = [];
  for (const call of calls) {
    const { args } = await withObjects((set) => call.prepare(set));
    const attributes = pathsOf(args).filter((path) =>
      path.length > 1 && valueAt(args, path) !== undefined
    );
    if (attributes.length === 0) continue;
    const objects = await objectsOf(call);
    for (const path of attributes) {
      const id = `${call.name}: ${path.join(".")}`;
      await withObjects(async (set) => {
        const prepared = await call.prepare(set);
        let reads = 0;
        watch(prepared.args, path, () => reads++);
        await verdict(call, prepared, /./);
        if (reads > 1) found.push(`${id}: it is read ${reads} times`);
      });
      for (const object of objects) {
        const closing = `${id} closes ${object === "this" ? object : object.join(".")}`;
        // It reads a copy of the table.
        if (call.name === "RwqIndirectionTable#workQueueFor") continue;
        // The end of a connection moves its queue pair.
        if (/^CmId#(disconnect|establish)/.test(call.name)) continue;
        await withObjects(async (set) => {
          const prepared = await call.prepare(set);
          const { self } = prepared;
          const victim = object === "this" ? self : valueAt(prepared.args, object);
          watch(prepared.args, path, () => (victim as verbs.Resource).close());
          const wrongs = await verdict(call, prepared, /disposed/);
          found.push(...wrongs.map((text) => `${closing}: ${text}`));
        });
      }
    }
  }
  assertEquals(found, []);
});

Deno.test("What is made of objects is closed before any of them", async () => {
  const found: string[] = [];
  for (const call of calls.filter(({ callable: { kind } }) => kind === "constructor")) {
    for (const path of await objectsOf(call)) {
      await withObjects(async (set) => {
        const prepared = await call.prepare(set);
        const made = invoke(call, prepared);
        (valueAt(prepared.args, path as Path) as verbs.Resource).close();
        if (!(made instanceof verbs.Resource) || made.disposed) return;
        found.push(`${call.name}: ${path} is closed alone`);
      });
    }
  }
  assertEquals(found, []);
});

/**
 * What the device tests share. Importing it opens libibverbs, so that the resource sanitizer does not take that for a
 * leak of the first test, and throws where there is no soft-RoCE device: these tests never pass without one.
 */

import { assertEquals } from "@std/assert";
import { bindAll } from "../../ffi/library.ts";
import {
  AccessFlags,
  type AhAttrInit,
  CompletionQueue,
  Context,
  type GidEntry,
  MemoryRegion,
  ProtectionDomain,
  type QpInitAttr,
  QpType,
  QueuePair,
  type WorkCompletion,
} from "../../mod.ts";
import { bed } from "./bed.ts";
import { resourceCounts } from "./resource_counts.ts";

export { type ResourceCounts, resourceCounts } from "./resource_counts.ts";

bindAll();

const SYSFS = "/sys/class/infiniband";
/** Only reached by what fails; emulated guests are slow. */
const PATIENCE_MS = 20_000;

/** The name of the soft-RoCE device the tests use. */
export const RXE = bed.device ?? findRxe();
if (bed.device === undefined) resourceCounts();

/** Its only port. */
export const PORT = 1;
/** The qkey of the queue pairs made here. */
export const QKEY = 0x1111_1111;

function findRxe(): string {
  // of all drivers only rxe tells its network device in a file of that name
  const names = directory(SYSFS).filter((name) => directory(`${SYSFS}/${name}`).includes("parent"));
  if (names[0] === undefined) {
    throw new Error(
      "Cannot run device tests: there is no soft-RoCE device. " +
        '"deno task test" runs them in a guest that has one',
    );
  }
  return names[0];
}

function directory(path: string): string[] {
  try {
    return [...Deno.readDirSync(path)].map(({ name }) => name).sort();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/** The text of a file of the device in sysfs, such as `ports/1/gids/0`, without white space around it. */
export function sysfs(path: string, device = RXE): string {
  return Deno.readTextFileSync(`${SYSFS}/${device}/${path}`).trim();
}

/** Opens the soft-RoCE device. */
export function openRxe(): Context {
  return Context.open(RXE);
}

/** Kinds of GID that the device has one or more of. */
export type Family = "ipv4" | "ipv6" | "link-local";

/** The first GID of that kind. */
export function gidOf(context: Context, family: Family): GidEntry {
  const found = context.gidTable(PORT).find(({ gid }) =>
    family === "ipv4"
      ? gid.isIpv4Mapped
      : !gid.isIpv4Mapped && gid.isLinkLocal === (family === "link-local")
  );
  if (found === undefined) throw new Error(`Cannot test: ${RXE} has no ${family} GID`);
  return found;
}

/** The address of the device itself, by its GID of that kind. */
export function selfAddress(context: Context, family: Family = "ipv4"): AhAttrInit {
  const { gid, gidIndex } = gidOf(context, family);
  return { portNum: PORT, grh: { dgid: gid, sgidIndex: gidIndex, hopLimit: 64 } };
}

/** A queue pair with a completion queue and memory of its own. */
export interface End {
  /** The queue pair; it sends and receives on `cq`. */
  readonly qp: QueuePair;
  /** Where its work completes. */
  readonly cq: CompletionQueue;
  /** 64 KiB that may be received into. */
  readonly mr: MemoryRegion;
}

/** Makes a queue pair, in state RESET, with room for 64 sends and receives of 4 elements. */
export function makeEnd(pd: ProtectionDomain, type: QpType, init: Partial<QpInitAttr> = {}): End {
  const cq = new CompletionQueue(pd.context, { cqe: 256 });
  const cap = { maxSendWr: 64, maxRecvWr: 64, maxSendSge: 4, maxRecvSge: 4, maxInlineData: 64 };
  const qp = new QueuePair(pd, { type, sendCq: cq, recvCq: cq, cap, ...init });
  const { LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC } = AccessFlags;
  const access = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC;
  return { qp, cq, mr: new MemoryRegion(pd, 65536, access) };
}

/** Two ends in one protection domain; disposing it closes the device. */
export interface Pair extends Disposable {
  readonly context: Context;
  readonly pd: ProtectionDomain;
  readonly left: End;
  readonly right: End;
}

/** Two UD queue pairs on the device's port, ready to send. */
export function udPair(): Pair {
  return pairOf((pd) => {
    const end = makeEnd(pd, QpType.UD);
    end.qp.activateUd({ port: PORT, qkey: QKEY });
    return end;
  });
}

/** Two ends of the same making. */
export function pairOf(make: (pd: ProtectionDomain) => End): Pair {
  using stack = new DisposableStack();
  const context = stack.use(openRxe());
  const pd = new ProtectionDomain(context);
  const [left, right] = [make(pd), make(pd)];
  const owned = stack.move();
  return { context, pd, left, right, [Symbol.dispose]: () => owned.dispose() };
}

/** Waits for that many completions of a queue; throws if they do not come. */
export async function waitFor(cq: CompletionQueue, count = 1): Promise<WorkCompletion[]> {
  const found: WorkCompletion[] = [];
  const late = new Error(`Cannot wait for ${count} completions: they do not come`);
  await withDeadline(late, async (signal) => {
    for await (const completion of cq.completions({ signal })) {
      found.push(completion);
      if (found.length >= count) return;
    }
  });
  return found;
}

/** Calls back with a signal that aborts when a test has waited too long. */
export async function withDeadline<T>(
  late: Error,
  use: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(late), PATIENCE_MS);
  try {
    return await use(deadline.signal);
  } finally {
    clearTimeout(timer);
  }
}

/** Comes back once the condition holds; throws if it never does. */
export async function until(what: string, condition: () => boolean): Promise<void> {
  await withDeadline(new Error(`Cannot go on: ${what} does not become true`), async (signal) => {
    while (!condition()) {
      signal.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  });
}

/** How many objects of one kind the kernel holds for the soft-RoCE device. */
export function countOf(kind: "pd" | "cq" | "qp" | "mr" | "ctx"): number {
  return resourceCounts()[RXE]![kind]!;
}

/**
 * Registers a test that fails when the kernel holds other objects after it than before. An address handle left behind
 * shows as well: it keeps its protection domain.
 */
export function deviceTest(name: string, body: () => void | Promise<void>): void {
  if (bed.test !== undefined) return bed.test(name, body);
  Deno.test(name, async () => {
    const before = resourceCounts();
    await body();
    assertEquals(resourceCounts(), before, "the test left kernel objects behind");
  });
}

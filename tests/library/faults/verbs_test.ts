// Verbs of the valid calls fail once with every errno that the system has: what is thrown, what is left, and that a retry works.
// messages.txt names the calls and the verbs. For another one add a line `CALL: VERB:`, or `CALL closed: VERB:` for the end of
// what a call makes. After that, and after a wanted change of messages, run this file with IBVERBS_PRINT=1: it writes them anew.
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { constants } from "node:os";
import { hasSymbol } from "../../../ffi/library/discovery.ts";
import { NativeResource, VerbsError } from "../../../mod.ts";
import { rows } from "../../../ffi/verbs.ts";
import * as recorder from "../../provider/recorder.ts";
import { idle } from "../registry/recorder_device.ts";
import { callNamed, invoke } from "../registry/calls.ts";
import { ObjectSet } from "../registry/object_set.ts";
import { ERRNOS, linesOf } from "./lines.ts";
import { times } from "./walk.ts";

/** Limits that everything exceeds, so that hints name them. */
const NO_ROOM = { max_qp_wr: 0, max_sge: 0, max_srq_wr: 0, max_srq_sge: 0, max_cqe: 0 };

/** What the library calls a verb, where the recorder's name is that of the function behind it. */
const TOLD: Readonly<Record<string, string>> = {
  ___ibv_query_port: "ibv_query_port",
  _ibv_query_gid_ex: "ibv_query_gid_ex",
  _ibv_query_gid_table: "ibv_query_gid_table",
  _ibv_query_comp_cntr_caps: "ibv_query_comp_cntr_caps",
  ibv_reg_mr_iova2: "ibv_reg_mr_iova",
};

/** Where the table of bindings has another name than the recorder. */
const BOUND: Readonly<Record<string, string>> = {
  ___ibv_query_port: "ibv_query_port",
  ibv_query_port: "_compat_ibv_query_port",
};

const ANOTHER_VERB = "ibv_query_device is tried in its place";
const READ_AGAIN = "there is no event yet, and the wait goes on";

/** Errors that do not reach the caller, with what happens instead. */
const HANDLED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  ibv_query_device_ex: { EOPNOTSUPP: ANOTHER_VERB, ENOSYS: ANOTHER_VERB },
  ibv_get_device_list: { ENOSYS: "the kernel has no RDMA module, so that the list is empty" },
  ibv_get_async_event: { EAGAIN: READ_AGAIN, EINTR: READ_AGAIN },
  ibv_get_cq_event: { EAGAIN: READ_AGAIN, EINTR: READ_AGAIN },
  ibv_start_poll: { ENOENT: "the queue is empty" },
};

/** Verbs that can fail and that no call of the table makes fail, each with its reason. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  ibv_get_pkey_index: "-1 says that the table does not have the P_Key",
  ibv_next_poll: "the next poll reports its error, so that the completions before it are not lost",
};

/** What the table of bindings says of a verb, as far as it matters here. */
interface Row {
  readonly fails?: string;
  readonly op?: unknown;
  readonly symbol?: string;
  readonly result?: string;
}
const ROWS = new Map<string, Row>(Object.entries(rows()) as [string, Row][]);

function rowOf(verb: string): Row {
  return ROWS.get(BOUND[verb] ?? verb)!;
}

const FILE = new URL("messages.txt", import.meta.url);
/** What users see: lines of which the first one starts with the call and the verb. */
const EXPECTED = Deno.readTextFileSync(FILE).trimEnd().split(/\n(?! )/);
const isPrinted = Deno.env.get("IBVERBS_PRINT") === "1";
const printed: string[] = [];
if (isPrinted) {
  addEventListener("unload", () => Deno.writeTextFileSync(FILE, printed.join("\n") + "\n"));
}

function assertSeen(expected: string, title: string, lines: readonly string[]): void {
  const seen = `${title}: ${lines.join("\n  ")}`;
  printed.push(seen);
  if (!isPrinted) assertEquals(seen, expected);
}

function assertFailed(error: unknown, verb: string, [code, errno]: [string, number]): VerbsError {
  assert(error instanceof VerbsError, `${verb} ${code}: ${error}`);
  assertEquals([error.verb, error.errno, error.code], [verb, errno, code]);
  assertStringIncludes(error.message, `${verb} gave ${code} (`);
  return error;
}

/** An ObjectSet that asserts at its end that nothing is left. */
class Checked extends ObjectSet implements AsyncDisposable {
  constructor() {
    recorder.reset();
    super();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
    await idle();
    assertEquals({ live: recorder.live(), wrong: recorder.violations() }, { live: 0, wrong: [] });
  }
}

/** Prepares a valid call, and returns the function that makes it. */
async function prepared(name: string, set: ObjectSet): Promise<() => Promise<unknown>> {
  const call = callNamed(name);
  const ready = await call.prepare(set);
  return async () => await invoke(call, ready);
}

function close(made: unknown): void {
  if (made instanceof NativeResource) made.close();
}

/** Makes a call fail with one errno, and then succeed. Returns what was thrown. */
async function failOnce(
  name: string,
  verb: string,
  errno: [string, number],
): Promise<VerbsError[]> {
  await using set = new Checked();
  const call = await prepared(name, set);
  recorder.answer("ibv_query_device", NO_ROOM);
  const before = recorder.live();
  // What the recorder answers by itself for this verb is -1.
  const result = verb === "ibv_poll_cq" ? { result: BigInt(-errno[1]) } : {};
  recorder.fail(verb, errno[1], { times: times(name), ...result });
  if (errno[0] in (HANDLED[verb] ?? {})) {
    close(await call());
    return [];
  }
  const error = await assertRejects(call);
  assertEquals(recorder.live(), before, `${verb} ${errno[0]}: left objects behind`);
  // A builder ends with complete(), whether that fails or not.
  const again = name === "WrBuilder#complete" ? await prepared(name, set) : call;
  close(await again());
  return [assertFailed(error, TOLD[verb] ?? verb, errno)];
}

/** Makes an object, and closes it while a verb fails. */
async function failToClose(
  name: string,
  verb: string,
  errno: [string, number],
): Promise<[string, VerbsError]> {
  await using set = new Checked();
  const made = await (await prepared(name, set))() as NativeResource;
  const shown = Deno.inspect(made).replace(/(fd|channel): \d+/, "$1: N");
  const before = recorder.live();
  recorder.fail(verb, errno[1], { times: 1 });
  const error = assertFailed(assertThrows(() => made.close()), verb, errno);
  assert(made.disposed);
  const { message } = assertThrows(() => made.unsafeHandle, TypeError);
  assertEquals(recorder.live(), before);
  made.close();
  assertEquals(recorder.live(), before - 1);
  recorder.take();
  made.close();
  assertEquals(recorder.take(), []);
  return [`${shown}\n  ${message}`, error];
}

/** Makes an object, and closes its context while a verb fails. */
async function failToCloseAll(name: string, verb: string, errno: [string, number]): Promise<void> {
  await using set = new Checked();
  const made = await (await prepared(name, set))() as NativeResource;
  recorder.fail(verb, errno[1], { times: 1 });
  assertFailed(assertThrows(() => set.context.close()), verb, errno);
  set.context.close();
  assert(made.disposed);
  assertEquals(recorder.live(), 0);
}

const TRIED = EXPECTED.map((expected) => {
  const [, title, name, closed, verb] = /^((.*?)( closed)?: (\w+)):/.exec(expected)!;
  return { expected, title: title!, name: name!, isClosed: closed !== undefined, verb: verb! };
});

for (const { expected, title, name, verb } of TRIED.filter(({ isClosed }) => !isClosed)) {
  // This one returns the address of memory.
  const makes = rowOf(verb).result === "pointer" || verb === "ibv_alloc_buf";
  Deno.test(`${name} throws each errno of ${verb}, leaks nothing and can be tried again`, async () => {
    const errors: VerbsError[] = [];
    for (const errno of ERRNOS) errors.push(...await failOnce(name, verb, errno));
    assertSeen(expected, title, linesOf(errors));
  });

  if (!makes) continue;
  Deno.test(`${name} throws if ${verb} returns NULL without a reason`, async () => {
    await using set = new Checked();
    const make = await prepared(name, set);
    const before = recorder.live();
    recorder.fail(verb, 0);
    const { errno, code } = await assertRejects(make, VerbsError);
    assertEquals({ errno, code }, { errno: 0, code: "unknown" });
    assertEquals(recorder.live(), before);
  });
}

for (const { expected, title, name, verb } of TRIED.filter(({ isClosed }) => isClosed)) {
  Deno.test(`What ${name} makes can be closed again after ${verb} failed with any errno`, async () => {
    const errors: VerbsError[] = [];
    let shown = "";
    for (const errno of ERRNOS) {
      const [text, error] = await failToClose(name, verb, errno);
      shown = text;
      errors.push(error);
    }
    assertSeen(expected, title, [...linesOf(errors), shown]);
  });

  if (verb === "ibv_close_device") continue;
  Deno.test(`Context.close() can be tried again after ${verb} of ${name} failed with any errno`, async () => {
    for (const errno of ERRNOS) await failToCloseAll(name, verb, errno);
  });
}

Deno.test("A verb that returns its error as a negative number fails with that error", async () => {
  await using set = new Checked();
  recorder.fail("ibv_modify_wq", 0, { skip: 1, times: 1, result: -22n });
  const { verb, code } = assertThrows(() => set.wq.modify({ wqState: 1 }), VerbsError);
  assertEquals({ verb, code }, { verb: "ibv_modify_wq", code: "EINVAL" });
});

Deno.test("Each verb that can fail is in the table of faults", () => {
  const tried = TRIED.map(({ verb }) => BOUND[verb] ?? verb);
  const canFail = [...ROWS].filter(([verb, { fails, op, symbol = verb }]) =>
    fails && fails !== "never" && (op !== undefined || hasSymbol(symbol))
  );
  const expected = canFail.map(([verb]) => verb).filter((verb) => !(verb in LEFT_OUT));
  assertEquals([...new Set(tried)].sort(), expected.sort());
});

Deno.test("Each errno that Deno knows is tried", () => {
  const tried = new Set(ERRNOS.map(([, errno]) => errno));
  assertEquals(Object.values(constants.errno).filter((errno) => !tried.has(errno)), []);
});

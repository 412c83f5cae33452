// Every verb fails once with every errno that the system has: what is thrown, what is left, and that a retry works.
// After a wanted change of messages, run this file with IBVERBS_PRINT=1: it writes messages.txt anew.
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { constants } from "node:os";
import { errnoName } from "../../../ffi/errno.ts";
import { library } from "../../../ffi/library.ts";
import { hasSymbol } from "../../../ffi/library/discovery.ts";
import { NativeResource, VerbsError } from "../../../mod.ts";
import { bindings, type Row } from "../../../tools/coverage/bindings.ts";
import { Fixture } from "../../provider/fixture.ts";
import * as recorder from "../../provider/recorder.ts";
import { type Attempt, ATTEMPTS, DESTRUCTIONS, LEFT_OUT } from "./attempts.ts";
import { MAKERS, wqOf } from "./makers.ts";

/** The last errno of Linux (EHWPOISON); a few numbers before it have no error. */
const LAST_ERRNO = 133;

const ERRNOS: readonly [code: string, errno: number][] = Array.from(
  { length: LAST_ERRNO },
  (_, i): [string, number] => [errnoName(i + 1), i + 1],
).filter(([code]) => code.startsWith("E"));

/** Limits that everything exceeds, so that hints name them. */
const NO_ROOM = { max_qp_wr: 0, max_sge: 0, max_srq_wr: 0, max_srq_sge: 0, max_cqe: 0 };

const FILE = new URL("messages.txt", import.meta.url);
/** What users see of each call: lines of which the first one starts with its name. */
const EXPECTED = Deno.readTextFileSync(FILE).trimEnd().split(/\n(?! )/);
const isPrinted = Deno.env.get("IBVERBS_PRINT") === "1";
const printed: string[] = [];
if (isPrinted) addEventListener("unload", () => Deno.writeTextFileSync(FILE, printed.join("")));

function assertSeen(name: string, lines: readonly string[]): void {
  const seen = `${name}: ${lines.join("\n  ")}`;
  printed.push(`${seen}\n`);
  if (!isPrinted) assertEquals(seen, EXPECTED.find((block) => block.startsWith(`${name}: `)));
}

/** What a call says it could not do, and its hints. Those that all verbs have are tested with the limits. */
function linesOf(errors: readonly VerbsError[]): string[] {
  const actions = new Set(errors.map(({ message, verb }) => message.split(`: ${verb} `)[0]!));
  const hinted = errors.filter(({ code, hint }) => hint && code !== "EAGAIN" && code !== "EMFILE");
  const hints = Map.groupBy(hinted, ({ hint }) => hint).entries().map(([hint, of]) =>
    `${of.length > 100 ? "any" : of.map(({ code }) => code).join(" ")}: ${hint}`
  );
  return [...actions, ...hints];
}

async function failureOf(call: () => unknown): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return error;
  }
  return undefined;
}

function assertFailed(error: unknown, verb: string, [code, errno]: [string, number]): VerbsError {
  assert(error instanceof VerbsError, `${verb} ${code}: ${error}`);
  assertEquals([error.verb, error.errno, error.code], [verb, errno, code]);
  assertStringIncludes(error.message, `${verb} gave ${code} (`);
  return error;
}

/** Makes a call fail with one errno, and then succeed. Returns what was thrown. */
async function failOnce(attempt: Attempt, errno: [string, number]): Promise<VerbsError[]> {
  const { verb, recorded = verb, reported = verb, handled = {}, result, prepare } = attempt;
  using fixture = new Fixture();
  const call = prepare(fixture);
  recorder.answer("ibv_query_device", NO_ROOM);
  const before = recorder.live();
  const returned = result && { result: result(errno[1]) };
  recorder.fail(recorded, errno[1], { times: isRepeated(attempt) ? 2 : 1, ...returned });
  const error = await failureOf(async () => close(await call()));
  if (errno[0] in handled) assertEquals(error, undefined, `${verb} ${errno[0]}`);
  assertEquals(recorder.live(), before, `${verb} ${errno[0]}: left objects behind`);
  close(await call());
  return errno[0] in handled ? [] : [assertFailed(error, reported, errno)];
}

/** Without thunks a verb that failed on another thread is called once more on this one, for its errno. */
function isRepeated({ elsewhere }: Attempt): boolean {
  return elsewhere !== undefined && !library().thunks;
}

function close(made: unknown): void {
  if (made instanceof NativeResource) made.close();
}

for (const [name, attempt] of Object.entries(ATTEMPTS)) {
  Deno.test(`${name} throws each errno of ${attempt.verb}, leaks nothing and can be tried again`, async () => {
    const errors: VerbsError[] = [];
    for (const errno of ERRNOS) errors.push(...await failOnce(attempt, errno));
    assertSeen(name, linesOf(errors));
  });
}

for (const [name, { create, prepare }] of Object.entries(MAKERS)) {
  Deno.test(`${name} throws if ${create} returns NULL without a reason`, () => {
    using fixture = new Fixture();
    const make = prepare(fixture);
    const before = recorder.live();
    recorder.fail(create, 0);
    const { verb, errno, code } = assertThrows(make, VerbsError);
    assertEquals({ verb, errno, code }, { verb: create, errno: 0, code: "unknown" });
    assertEquals(recorder.live(), before);
  });
}

Deno.test("A verb that returns its error as a negative number fails with that error", () => {
  using fixture = new Fixture();
  const queue = wqOf(fixture);
  recorder.fail("ibv_modify_wq", 0, { result: -22n });
  const { verb, code } = assertThrows(() => queue.modify({ wqState: 1 }), VerbsError);
  assertEquals({ verb, code }, { verb: "ibv_modify_wq", code: "EINVAL" });
});

for (const [name, { verb, prepare }] of Object.entries(DESTRUCTIONS)) {
  Deno.test(`${name} can be closed again after ${verb} failed with any errno`, () => {
    const errors: VerbsError[] = [];
    let shown = "";
    for (const errno of ERRNOS) {
      using fixture = new Fixture();
      const made = prepare(fixture)();
      shown ||= Deno.inspect(made).replace(/fd: \d+/, "fd: N");
      const before = recorder.live();
      recorder.fail(verb, errno[1], { times: 1 });
      errors.push(assertFailed(assertThrows(() => made.close()), verb, errno));
      assert(made.disposed);
      assertThrows(() => made.unsafeHandle, TypeError, "it is disposed");
      assertEquals(recorder.live(), before);
      made.close();
      assertEquals(recorder.live(), before - 1);
      recorder.take();
      made.close();
      assertEquals(recorder.take(), []);
    }
    assertSeen(`${name}.close()`, [shown, ...linesOf(errors)]);
  });

  if (verb === "ibv_close_device") continue;
  Deno.test(`Context.close() can be tried again after ${verb} of ${name} failed with any errno`, () => {
    for (const errno of ERRNOS) {
      using fixture = new Fixture();
      const made = prepare(fixture)();
      recorder.fail(verb, errno[1], { times: 1 });
      assertFailed(assertThrows(() => fixture.context.close()), verb, errno);
      assert(made.disposed);
      fixture.context.close();
      assertEquals(recorder.live(), 0);
    }
  });
}

Deno.test("Each verb that can fail is in the table of faults", async () => {
  const tried = [
    ...Object.values(ATTEMPTS),
    ...Object.values(DESTRUCTIONS),
  ].map(({ verb }) => verb);
  const known = new Set([...tried, ...Object.keys(LEFT_OUT)]);
  const canFail = (await bindings()).filter(({ row }) => row.fails && row.fails !== "never");
  const missing = canFail.filter(({ verb, row }) => !known.has(verb) && !isNewer(verb, row));
  assertEquals(missing.map(({ verb }) => verb), []);
  const names = new Set(canFail.map(({ verb }) => verb));
  assertEquals([...known].filter((verb) => !names.has(verb)), []);
  assertEquals(Object.keys(LEFT_OUT).filter((verb) => tried.includes(verb)), []);
});

/** The recorder has what rdma-core 44 has; no class uses a newer verb. */
function isNewer(verb: string, { op, symbol = verb }: Row): boolean {
  return op === undefined && !hasSymbol(symbol);
}

Deno.test("Each errno that Deno knows is tried", () => {
  const tried = new Set(ERRNOS.map(([, errno]) => errno));
  assertEquals(Object.values(constants.errno).filter((errno) => !tried.has(errno)), []);
});

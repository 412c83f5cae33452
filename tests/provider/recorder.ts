/**
 * Puts the recorder in libibverbs' place for the test file that imports this, before anything else opens libibverbs.
 * Every verb then succeeds, on objects that do not exist, and leaves a record of its arguments. See README.md.
 */

import { constants } from "node:os";
import { type Field, type Place, type Struct, structs, writeField } from "../../ffi/mod.ts";
import { recorderPath } from "./compile.ts";
import { takePlaceOfLibibverbs } from "./place.ts";
import { type Call, type Label, parseCalls } from "./records.ts";

/** When and how a verb fails. */
export interface FailOptions {
  /** How many calls fail; all from the first one on if left out. */
  readonly times?: number;
  /** How many calls succeed before that. */
  readonly skip?: number;
  /** What the verb returns, if that is not what it returns for the error: 0n is a null pointer without errno. */
  readonly result?: bigint;
}

/** A completion, by the C names of `ibv_wc`, with what only an extended completion queue tells. */
export interface PushedCompletion
  extends Readonly<Partial<Record<keyof typeof structs.ibv_wc.fields, number | bigint>>> {
  /** Whether the sender asked for an event. */
  readonly solicited?: boolean;
  readonly timestamp?: bigint;
  readonly wallclock_ns?: bigint;
  readonly flow_tag?: number;
  readonly cvlan?: number;
  /** Tag and private data of a tag-matching completion. */
  readonly tm_info?: { readonly tag: bigint; readonly priv: number };
}

/** The struct that a verb fills in, where that has fields to choose. */
const OUTPUTS = {
  ibv_query_device: structs.ibv_device_attr,
  ibv_query_device_ex: structs.ibv_device_attr_ex,
  ibv_query_port: structs.ibv_port_attr,
  _ibv_query_gid_ex: structs.ibv_gid_entry,
  _ibv_query_gid_table: structs.ibv_gid_entry,
  ibv_query_rt_values_ex: structs.ibv_values_ex,
  ibv_query_srq: structs.ibv_srq_attr,
  ibv_query_qp: structs.ibv_qp_attr,
  ibv_init_ah_from_wc: structs.ibv_ah_attr,
} as const satisfies Record<string, Struct>;

/**
 * The structs behind each kind of object whose fields tests choose, with their offsets: a context is reached by a pointer
 * into the middle of a `verbs_context`, and an extended queue pair starts with a plain one.
 */
const KINDS: Readonly<Record<string, readonly (readonly [Struct, offset: number])[]>> = {
  device: [[structs.ibv_device, 0]],
  context: [
    [structs.verbs_context, -structs.verbs_context.fields.context.offset],
    [structs.ibv_context, 0],
  ],
  pd: [[structs.ibv_pd, 0]],
  mr: [[structs.ibv_mr, 0]],
  mw: [[structs.ibv_mw, 0]],
  dm: [[structs.ibv_dm, 0]],
  channel: [[structs.ibv_comp_channel, 0]],
  cq: [[structs.ibv_cq_ex, 0]],
  srq: [[structs.ibv_srq, 0]],
  qp: [[structs.ibv_qp, 0], [structs.ibv_qp_ex, 0]],
  wq: [[structs.ibv_wq, 0]],
  table: [[structs.ibv_rwq_ind_table, 0]],
  ah: [[structs.ibv_ah, 0]],
};

/** A field of a kind of object, counted from where its pointer points to. */
function placeOf(kind: string, name: string): Field {
  for (const [{ fields }, base] of KINDS[kind] ?? []) {
    const field = fields[name.replace(/^context\./, "")];
    if (field !== undefined) return { ...field, offset: base + field.offset };
  }
  throw new TypeError(`Cannot choose field: "${kind}" has no "${name}"`);
}

const SYMBOLS = {
  recorder_take: { parameters: ["buffer", "usize"], result: "usize" },
  recorder_take_violations: { parameters: ["buffer", "usize"], result: "usize" },
  recorder_reset: { parameters: [], result: "void" },
  recorder_live: { parameters: ["buffer"], result: "u32" },
  recorder_object: { parameters: ["buffer", "u32"], result: "pointer" },
  recorder_devices: { parameters: ["u32"], result: "void" },
  recorder_fail: { parameters: ["buffer", "i32", "u32", "u32", "bool", "i64"], result: "void" },
  recorder_delay: { parameters: ["buffer", "u32"], result: "void" },
  recorder_delayed: { parameters: [], result: "u32" },
  recorder_answer: { parameters: ["buffer", "usize", "buffer", "usize"], result: "void" },
  recorder_patch: { parameters: ["buffer", "isize", "buffer", "usize"], result: "void" },
  recorder_call_allocators: { parameters: ["bool"], result: "void" },
  recorder_complete: {
    parameters: ["pointer", "buffer", "bool", "u64", "u64", "u32", "u16", "u64", "u32"],
    result: "void",
  },
  recorder_cq_event: { parameters: ["pointer"], result: "void" },
  recorder_async_event: { parameters: ["pointer", "i32", "pointer", "i32"], result: "void" },
  recorder_hang_up: { parameters: ["pointer"], result: "void" },
  recorder_connect: { parameters: [], result: "void" },
  recorder_unacknowledged: { parameters: [], result: "u32" },
} as const satisfies Deno.ForeignLibraryInterface;

const path = await recorderPath();
takePlaceOfLibibverbs(path);
const { symbols } = Deno.dlopen(path, SYMBOLS);

function cString(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${text}\0`);
}

function drained(take: (buffer: Uint8Array<ArrayBuffer>, size: bigint) => bigint): string {
  for (let buffer = new Uint8Array(0);;) {
    // Other threads append to it, and take from it, in between.
    const length = Number(take(buffer, BigInt(buffer.length)));
    if (length <= buffer.length) return new TextDecoder().decode(buffer.subarray(0, length));
    buffer = new Uint8Array(length);
  }
}

/** Bytes of the one kind of memory that Deno passes as a buffer. */
type Bytes = Uint8Array<ArrayBuffer> | DataView<ArrayBuffer>;

/** Forgets records, plans and objects. Call it first in each test. */
export function reset(): void {
  symbols.recorder_reset();
}

/** The calls since the last `take()` or `reset()`, in the order in which they ended. */
export function take(): Call[] {
  return parseCalls(drained(symbols.recorder_take));
}

/** The calls of some verbs since the last `take()`; drops the others. */
export function takeOf(...verbs: string[]): Call[] {
  return parseCalls(drained(symbols.recorder_take), (verb) => verbs.includes(verb));
}

/** The only call of a verb since the last `take()`; drops the others. Throws if there were none or several. */
export function takeOne(verb: string): Call {
  const calls = take();
  const found = calls.filter((call) => call.verb === verb);
  if (found.length === 1) return found[0]!;
  const names = calls.map(({ verb }) => verb).join(", ");
  throw new Error(`Cannot take one call of ${verb}: there are ${found.length}, among: ${names}`);
}

/** What the library did that no program may, one sentence each; empties the list. */
export function violations(): string[] {
  return drained(symbols.recorder_take_violations).split("\n").filter((line) => line !== "");
}

/** How many objects of a kind are alive; of all kinds if left out, devices apart. */
export function live(kind?: string): number {
  return symbols.recorder_live(kind === undefined ? null : cString(kind));
}

/** How many devices there are: recorder0, recorder1, ... One after `reset()`, at most 8. */
export function setDevices(count: number): void {
  symbols.recorder_devices(count);
}

/** The native pointer to an object, alive or not. */
export function pointerTo(label: Label): Deno.PointerObject {
  const match = /^([a-z]+)(\d+)$/.exec(label);
  const pointer = match && symbols.recorder_object(cString(match[1]!), Number(match[2]));
  if (pointer === null) throw new Error(`Cannot find "${label}" among the recorder's objects`);
  return pointer;
}

/** Lets a verb fail, in the way in which it reports errors. The latest wish for a verb counts. */
export function fail(
  verb: string,
  error: keyof typeof constants.errno | number,
  options: FailOptions = {},
): void {
  const { times = 0, skip = 0, result } = options;
  const errno = typeof error === "number" ? error : constants.errno[error];
  const hasResult = result !== undefined;
  symbols.recorder_fail(cString(verb), errno, skip, times, hasResult, result ?? 0n);
}

/** Lets each call of a verb that begins later take at least so many milliseconds, 0 for none; until `reset()`. */
export function delay(verb: string, ms: number): void {
  symbols.recorder_delay(cString(verb), ms);
}

/** How many calls are delayed now. */
export function delayed(): number {
  return symbols.recorder_delayed();
}

/**
 * Chooses fields of what a verb answers. The latest choice for a field counts; the other fields keep what the recorder
 * answers by itself.
 */
export function answer<V extends keyof typeof OUTPUTS>(
  verb: V,
  fields: Readonly<Partial<Record<keyof (typeof OUTPUTS)[V]["fields"], number | bigint | Bytes>>>,
): void {
  const layout: Struct = OUTPUTS[verb];
  for (const [name, value] of Object.entries(fields)) {
    const field = layout.fields[name];
    if (field === undefined) throw new TypeError(`Cannot answer ${verb}: no field "${name}"`);
    answerBytes(verb, fieldBytes(field, value as number | bigint | Bytes), field.offset);
  }
}

/**
 * Chooses bytes of what a verb answers, from an offset on. The answer of a verb that posts is the index of the request
 * at which it fails, as a `uint32_t`.
 */
export function answerBytes(verb: string, bytes: Bytes, offset = 0): void {
  symbols.recorder_answer(cString(verb), BigInt(offset), bytes, BigInt(bytes.byteLength));
}

function fieldBytes(
  field: Place & { readonly size: number },
  value: number | bigint | Bytes,
): Bytes {
  if (typeof value === "object") return value;
  const view = new DataView(new ArrayBuffer(field.size));
  writeField(view, { offset: 0, type: field.type }, value);
  return view;
}

/** Chooses a field of every object of a kind that is made from now on, by its C name. */
export function setField(kind: string, name: string, value: number | bigint): void {
  const field = placeOf(kind, name);
  const bytes = fieldBytes(field, value);
  symbols.recorder_patch(cString(kind), BigInt(field.offset), bytes, BigInt(field.size));
}

/** Overwrites a field of an object that exists, by its C name. */
export function overwrite(label: Label, name: string, value: number | bigint): void {
  const kind = label.replace(/\d+$/, "");
  const { offset, size, type } = placeOf(kind, name);
  const memory = Deno.UnsafePointerView.getArrayBuffer(pointerTo(label), size, offset);
  writeField(new DataView(memory), { offset: 0, type }, value);
}

/**
 * Takes a function pointer out of every object of a kind that is made from now on: an op of a context such as
 * `"create_wq"` or `"ops.post_send"`, a builder of a queue pair, a reader of a completion queue.
 */
export function lack(op: string, kind = "context"): void {
  setField(kind, op, 0n);
}

/** Whether queues made in a parent domain take their memory from the domain's allocators. */
export function callAllocators(yes = true): void {
  symbols.recorder_call_allocators(yes);
}

/** Queues a completion. A queue that is armed and has a channel sends an event. */
export function complete(cq: Label, completion: PushedCompletion = {}): void {
  const { solicited = false, timestamp = 0n, wallclock_ns = 0n, flow_tag = 0, cvlan = 0 } =
    completion;
  const { tm_info: { tag, priv } = { tag: 0n, priv: 0 } } = completion;
  const wc = new DataView(new ArrayBuffer(structs.ibv_wc.size));
  for (const [name, field] of Object.entries(structs.ibv_wc.fields)) {
    const value = completion[name as keyof typeof structs.ibv_wc.fields];
    if (value !== undefined) writeField(wc, field, value);
  }
  const pointer = pointerTo(cq);
  symbols.recorder_complete(
    pointer,
    wc,
    solicited,
    timestamp,
    wallclock_ns,
    flow_tag,
    cvlan,
    tag,
    priv,
  );
}

/** Lets data move until `reset()`: plain queue pairs reach each other, as those of one device do. */
export function connect(): void {
  symbols.recorder_connect();
}

/** Sends an event of a completion queue that has a channel, whether it is armed or not. */
export function sendCqEvent(cq: Label): void {
  symbols.recorder_cq_event(pointerTo(cq));
}

/** Sends an asynchronous event, of an object by its label or of a port by its number. */
export function sendAsyncEvent(
  type: number,
  of: Label | number,
  context: Label = "context0",
): void {
  const element = typeof of === "string" ? pointerTo(of) : null;
  symbols.recorder_async_event(pointerTo(context), type, element, typeof of === "number" ? of : 0);
}

/** Ends the stream of asynchronous events of a context, as the kernel does when a device goes away. */
export function hangUp(context: Label = "context0"): void {
  symbols.recorder_hang_up(pointerTo(context));
}

/** How many asynchronous events were read and not acknowledged. */
export function unacknowledged(): number {
  return symbols.recorder_unacknowledged();
}

// The recorder itself: what it notices, and what it can be told to do.
import { assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import * as recorder from "../../provider/recorder.ts";
import {
  errno,
  errnoName,
  type Field,
  hasSymbol,
  type IbvContext,
  type IbvPd,
  structs,
  verbs,
} from "../../../ffi/mod.ts";
import { prototypes } from "../header.ts";
import { objects } from "./objects.ts";

function open(): IbvContext {
  recorder.reset();
  const list = verbs().ibv_get_device_list(new Int32Array(1))!;
  const device = new Deno.UnsafePointerView(list).getPointer()!;
  const context = verbs().ibv_open_device(device as never)!;
  verbs().ibv_free_device_list(list);
  recorder.take();
  return context;
}

function pdOf(context: IbvContext): IbvPd {
  return verbs().ibv_alloc_pd(context)!;
}

Deno.test("The recorder writes down objects, numbers and the bytes of structs", () => {
  const context = open();
  const pd = pdOf(context);
  const attr = new Uint8Array(structs.ibv_ah_attr.size);
  attr[structs.ibv_ah_attr.fields.port_num.offset] = 3;
  verbs().ibv_create_ah(pd, attr);
  const [alloc, create] = recorder.take();
  assertEquals(alloc, {
    verb: "ibv_alloc_pd",
    args: { context: "context0" },
    result: "pd0",
    errno: 0,
  });
  assertEquals(create?.args.pd, "pd0");
  const recorded = create?.args.attr;
  if (recorded === null || typeof recorded !== "object") throw new Error("the struct is missing");
  assertEquals(recorded.bytes, attr);
  assertEquals(recorded.fields.port_num, 3);
});

Deno.test("The recorder notices an object that is freed twice", () => {
  const pd = pdOf(open());
  assertEquals(verbs().ibv_dealloc_pd(pd), 0);
  assertEquals(recorder.violations(), []);
  assertNotEquals(verbs().ibv_dealloc_pd(pd), 0);
  assertEquals(recorder.violations(), ["ibv_dealloc_pd: pd0 is used after its end"]);
});

Deno.test("The recorder notices a call on an object that has ended", () => {
  const context = open();
  const cq = verbs().ibv_create_cq(context, 4, 0n, null, 0)!;
  verbs().ibv_destroy_cq(cq);
  verbs().ibv_poll_cq(cq, 1, Deno.UnsafePointer.of(new Uint8Array(64)));
  assertEquals(recorder.violations(), ["ibv_poll_cq: cq0 is used after its end"]);
});

Deno.test("The recorder notices an object that ends before those made from it", () => {
  const context = open();
  const pd = pdOf(context);
  verbs().ibv_create_ah(pd, new Uint8Array(structs.ibv_ah_attr.size));
  assertEquals(errnoName(verbs().ibv_dealloc_pd(pd)), "EBUSY");
  assertEquals(recorder.violations(), ["pd0 ends while 1 others use it"]);
  assertEquals(verbs().ibv_close_device(context), 0);
  assertEquals(recorder.violations(), ["context0 ends while 1 others use it"]);
});

Deno.test("The recorder notices an object of another kind", () => {
  const context = open();
  verbs().ibv_dealloc_pd(context as never);
  assertEquals(recorder.violations(), ["ibv_dealloc_pd: pd is context0"]);
});

Deno.test("live() counts objects until they end", () => {
  const context = open();
  const pd = pdOf(context);
  assertEquals([recorder.live(), recorder.live("pd"), recorder.live("cq")], [2, 1, 0]);
  verbs().ibv_dealloc_pd(pd);
  verbs().ibv_close_device(context);
  assertEquals([recorder.live(), recorder.live("device")], [0, 0]);
});

Deno.test("fail() lets a verb fail in its own way, as often as wanted", () => {
  const context = open();
  recorder.fail("ibv_alloc_pd", "ENOMEM", { skip: 1, times: 1 });
  assertNotEquals(verbs().ibv_alloc_pd(context), null);
  assertEquals(verbs().ibv_alloc_pd(context), null);
  assertEquals(errnoName(errno()), "ENOMEM");
  const pd = pdOf(context);
  recorder.fail("ibv_dealloc_pd", "EBUSY");
  assertEquals(errnoName(verbs().ibv_dealloc_pd(pd)), "EBUSY");
  recorder.fail("ibv_dealloc_pd", 0, { result: -1n });
  assertEquals(verbs().ibv_dealloc_pd(pd), -1);
  assertEquals(recorder.violations(), []);
});

Deno.test("answer() chooses fields of what a verb answers", () => {
  const context = open();
  const { size, fields } = structs.ibv_device_attr;
  const attr = new DataView(new ArrayBuffer(size));
  verbs().ibv_query_device(context, attr);
  const before = attr.getInt32(fields.max_cq.offset, true);
  recorder.answer("ibv_query_device", { max_qp: 7 });
  verbs().ibv_query_device(context, attr);
  assertEquals(attr.getInt32(fields.max_qp.offset, true), 7);
  assertEquals(attr.getInt32(fields.max_cq.offset, true), before);
});

Deno.test("setField() and lack() choose fields of objects to come", () => {
  recorder.reset();
  recorder.setField("qp", "qp_num", 0xabcdef);
  recorder.lack("create_wq");
  const list = verbs().ibv_get_device_list(new Int32Array(1))!;
  const device = new Deno.UnsafePointerView(list).getPointer()!;
  const context = verbs().ibv_open_device(device as never)!;
  const { create_wq, modify_wq, context: inner } = structs.verbs_context.fields;
  const view = new Deno.UnsafePointerView(context);
  assertEquals(view.getBigUint64(create_wq.offset - inner.offset), 0n);
  assertNotEquals(view.getBigUint64(modify_wq.offset - inner.offset), 0n);
  const pd = pdOf(context);
  const qp = verbs().ibv_create_qp(pd, new Uint8Array(structs.ibv_qp_init_attr.size))!;
  const number = new Deno.UnsafePointerView(qp).getUint32(structs.ibv_qp.fields.qp_num.offset);
  assertEquals(number, 0xabcdef);
  assertThrows(() => recorder.lack("no_such_op"), TypeError);
});

Deno.test("complete() queues a completion, and an armed queue sends one event", () => {
  const context = open();
  const channel = verbs().ibv_create_comp_channel(context)!;
  const cq = verbs().ibv_create_cq(context, 4, 0n, channel, 0)!;
  recorder.complete("cq0", { wr_id: 1n });
  verbs().ibv_req_notify_cq(cq, 0);
  recorder.complete("cq0", { wr_id: 2n, byte_len: 9 });
  recorder.complete("cq0", { wr_id: 3n });
  const found = [new BigUint64Array(1), new BigUint64Array(1)] as const;
  assertEquals(verbs().ibv_get_cq_event(channel, ...found), 0);
  assertEquals(found[0][0], Deno.UnsafePointer.value(cq));
  const { size, fields } = structs.ibv_wc;
  const wc = new DataView(new ArrayBuffer(4 * size));
  assertEquals(verbs().ibv_poll_cq(cq, 4, Deno.UnsafePointer.of(wc)), 3);
  assertEquals(wc.getBigUint64(size, true), 2n);
  assertEquals(wc.getUint32(size + fields.byte_len.offset, true), 9);
  verbs().ibv_ack_cq_events(cq, 2);
  assertEquals(recorder.violations(), [
    "ibv_ack_cq_events: cq0 has 1 events to acknowledge, not 2",
  ]);
  verbs().ibv_destroy_cq(cq);
  verbs().ibv_destroy_comp_channel(channel);
});

Deno.test("sendAsyncEvent() sends an event that must be acknowledged before its object ends", () => {
  const context = open();
  const cq = verbs().ibv_create_cq(context, 4, 0n, null, 0)!;
  recorder.sendAsyncEvent(0, "cq0");
  const event = new DataView(new ArrayBuffer(structs.ibv_async_event.size));
  assertEquals(verbs().ibv_get_async_event(context, Deno.UnsafePointer.of(event)), 0);
  assertEquals(event.getBigUint64(0, true), Deno.UnsafePointer.value(cq));
  assertEquals(recorder.unacknowledged(), 1);
  verbs().ibv_destroy_cq(cq);
  verbs().ibv_ack_async_event(Deno.UnsafePointer.of(event));
  verbs().ibv_ack_async_event(Deno.UnsafePointer.of(event));
  assertEquals(recorder.violations(), [
    "cq0 ends with 1 events that are not acknowledged",
    "ibv_ack_async_event: the object ended before its event was acknowledged",
    "ibv_ack_async_event: more events are acknowledged than were read",
    "ibv_ack_async_event: the object ended before its event was acknowledged",
  ]);
});

Deno.test("The recorder has every exported verb of the header, and every op of a context", async () => {
  const missing = (await prototypes())
    .filter(({ name, isInline }) => !isInline && !hasSymbol(name)).map(({ name }) => name);
  assertEquals(missing, []);
  const view = new Deno.UnsafePointerView(open());
  const { verbs_context, ibv_context } = structs;
  const base = verbs_context.fields.context.offset;
  const extended: [string, Field][] = Object.entries(verbs_context.fields);
  const ops: [string, Field][] = Object.entries(ibv_context.fields);
  const empty = [
    ...extended.filter(([, { type }]) => type === "ptr").map(([name, { offset }]) =>
      [name, offset - base] as const
    ),
    ...ops.filter(([name]) => /^ops\.(?!_compat)/.test(name)).map(([name, { offset }]) =>
      [name, offset] as const
    ),
  ].filter(([, offset]) => view.getBigUint64(offset) === 0n).map(([name]) => name);
  // libibverbs keeps its own state there.
  assertEquals(empty, ["priv"]);
});

Deno.test("The recorder notices readers and steps out of place in polling", () => {
  const { ibv_cq_ex: cq } = objects();
  const attr = Deno.UnsafePointer.of(new Uint8Array(structs.ibv_poll_cq_attr.size));
  recorder.complete("cq1", { wr_id: 7n, byte_len: 9 });
  verbs().ibv_next_poll(cq as never);
  assertEquals(recorder.violations(), ["ibv_next_poll: the queue is not polled"]);
  recorder.complete("cq1", { wr_id: 8n });
  assertEquals(verbs().ibv_start_poll(cq as never, attr), 0);
  verbs().ibv_wc_read_byte_len(cq as never);
  assertEquals(recorder.violations(), ["ibv_wc_read_byte_len: the queue was not made to tell"]);
  assertEquals(errnoName(verbs().ibv_next_poll(cq as never)), "ENOENT");
  verbs().ibv_destroy_cq(cq as never);
  assertEquals(recorder.violations(), [
    "ibv_destroy_cq: the queue is between ibv_start_poll and ibv_end_poll",
  ]);
});

Deno.test("The recorder notices builders out of place", () => {
  const { ibv_qp_ex: qp } = objects();
  verbs().ibv_wr_send(qp as never);
  verbs().ibv_wr_complete(qp as never);
  verbs().ibv_wr_start(qp as never);
  verbs().ibv_wr_start(qp as never);
  assertEquals(recorder.violations(), [
    "ibv_wr_send: the queue pair is not between ibv_wr_start and ibv_wr_complete",
    "ibv_wr_send: the queue pair was not made for it",
    "ibv_wr_complete: the queue pair has no requests under way",
    "ibv_wr_start: the queue pair has requests under way",
  ]);
});

Deno.test("callAllocators() takes the memory of queues from their parent domain", () => {
  const { ibv_context: context, ibv_pd: pd } = objects();
  const memory = new Uint8Array(4096);
  const asked: unknown[][] = [];
  using stack = new DisposableStack();
  const callback = (
    definition: Deno.UnsafeCallbackDefinition,
    body: (...args: unknown[]) => unknown,
  ) => {
    const made = new Deno.UnsafeCallback(definition, body as never);
    stack.defer(() => made.close());
    return Deno.UnsafePointer.value(made.pointer);
  };
  const alloc = callback(
    { parameters: ["pointer", "pointer", "usize", "usize", "u64"], result: "pointer" },
    (_pd, _context, ...rest) => {
      asked.push(rest);
      return Deno.UnsafePointer.of(memory);
    },
  );
  const free = callback(
    { parameters: ["pointer", "pointer", "pointer", "u64"], result: "void" },
    () => {
      asked.push(["free"]);
    },
  );
  const { ibv_parent_domain_init_attr, ibv_cq_init_attr_ex } = structs;
  const domain = new DataView(new ArrayBuffer(ibv_parent_domain_init_attr.size));
  domain.setBigUint64(
    ibv_parent_domain_init_attr.fields.pd.offset,
    Deno.UnsafePointer.value(pd!),
    true,
  );
  domain.setUint32(ibv_parent_domain_init_attr.fields.comp_mask.offset, 1, true);
  domain.setBigUint64(ibv_parent_domain_init_attr.fields.alloc.offset, alloc, true);
  domain.setBigUint64(ibv_parent_domain_init_attr.fields.free.offset, free, true);
  const parent = verbs().ibv_alloc_parent_domain(context as never, domain)!;
  const init = new DataView(new ArrayBuffer(ibv_cq_init_attr_ex.size));
  const { cqe, comp_mask, parent_domain } = ibv_cq_init_attr_ex.fields;
  init.setUint32(cqe.offset, 4, true);
  init.setUint32(comp_mask.offset, 2, true);
  init.setBigUint64(parent_domain.offset, Deno.UnsafePointer.value(parent), true);
  recorder.callAllocators();
  const cq = verbs().ibv_create_cq_ex(context as never, init)!;
  verbs().ibv_destroy_cq(cq as never);
  assertEquals(asked, [[BigInt(4 * structs.ibv_wc.size), 4096n, 1n], ["free"]]);
  assertEquals(memory[0], 0xa5);
  assertEquals(recorder.takeOf("alloc", "free").map(({ verb, args }) => [verb, args.pd]), [
    ["alloc", "pd1"],
    ["free", "pd1"],
  ]);
});

// The recorder itself: what it notices, and what it can be told to do.
import { assertEquals, assertNotEquals } from "@std/assert";
import * as recorder from "../../provider/recorder.ts";
import {
  allocStruct,
  errnoName,
  type Field,
  hasSymbol,
  structs,
  writeField,
} from "../../../ffi/mod.ts";
import { isNative } from "../../../ffi/library/bind.ts";
import type { AnyRow } from "../../../ffi/table/row.ts";
import { rows } from "../../../ffi/verbs.ts";
import { call, objects } from "./objects.ts";

/** Completion queue of plain C, without a channel. */
function plainCq(context: Deno.PointerObject, channel: unknown = null): unknown {
  return call("ibv_create_cq", context, 4, 0n, channel, 0);
}

function numberAt(pointer: Deno.PointerObject, offset: number): bigint {
  return new Deno.UnsafePointerView(pointer).getBigUint64(offset);
}

Deno.test("The recorder writes down objects, numbers and the bytes of structs", () => {
  const { ibv_pd: pd } = objects();
  const attr = allocStruct(structs.ibv_ah_attr);
  writeField(attr, structs.ibv_ah_attr.fields.port_num, 3);
  call("ibv_create_ah", pd, attr);
  const [alloc, create] = recorder.takeOf("ibv_alloc_pd", "ibv_create_ah");
  const args = { context: "context0" };
  assertEquals(alloc, { verb: "ibv_alloc_pd", args, result: "pd0", errno: 0 });
  assertEquals(create?.args.pd, "pd0");
  const recorded = create?.args.attr;
  if (recorded === null || typeof recorded !== "object") throw new Error("the struct is missing");
  assertEquals(recorded.bytes, new Uint8Array(attr.buffer));
  assertEquals(recorded.fields.port_num, 3);
});

Deno.test("The recorder notices an object that is freed twice", () => {
  const { ibv_pd: pd } = objects();
  assertEquals(call("ibv_dealloc_pd", pd), 0);
  assertEquals(recorder.violations(), []);
  assertNotEquals(call("ibv_dealloc_pd", pd), 0);
  assertEquals(recorder.violations(), ["ibv_dealloc_pd: pd0 is used after its end"]);
});

Deno.test("The recorder notices a call on an object that has ended", () => {
  const { ibv_cq: cq } = objects();
  call("ibv_destroy_cq", cq);
  call("ibv_poll_cq", cq, 1, Deno.UnsafePointer.of(new Uint8Array(64)));
  assertEquals(recorder.violations(), ["ibv_poll_cq: cq0 is used after its end"]);
});

Deno.test("The recorder notices an object that ends before those made from it", () => {
  const { ibv_context: context, ibv_pd: pd } = objects();
  call("ibv_create_ah", pd, allocStruct(structs.ibv_ah_attr));
  assertEquals(errnoName(call("ibv_dealloc_pd", pd) as number), "EBUSY");
  assertEquals(recorder.violations(), ["pd0 ends while 1 others use it"]);
  assertEquals(call("ibv_close_device", context), 0);
  assertEquals(recorder.violations(), ["context0 ends while 1 others use it"]);
});

Deno.test("The recorder notices an object of another kind", () => {
  call("ibv_dealloc_pd", objects().ibv_context);
  assertEquals(recorder.violations(), ["ibv_dealloc_pd: pd is context0"]);
});

Deno.test("The recorder notices an event that is acknowledged twice", () => {
  const { ibv_context: context } = objects();
  const channel = call("ibv_create_comp_channel", context);
  const cq = plainCq(context, channel);
  recorder.sendCqEvent("cq0");
  call("ibv_get_cq_event", channel, new BigUint64Array(1), new BigUint64Array(1));
  call("ibv_ack_cq_events", cq, 2);
  assertEquals(recorder.violations(), [
    "ibv_ack_cq_events: cq0 has 1 events to acknowledge, not 2",
  ]);
  call("ibv_destroy_cq", cq);
  call("ibv_destroy_comp_channel", channel);
});

Deno.test("sendAsyncEvent() sends an event that must be acknowledged before its object ends", () => {
  const { ibv_context: context } = objects();
  const cq = plainCq(context);
  recorder.sendAsyncEvent(0, "cq0");
  const view = allocStruct(structs.ibv_async_event);
  const event = Deno.UnsafePointer.of(view);
  assertEquals(call("ibv_get_async_event", context, event), 0);
  assertEquals(view.getBigUint64(0, true), Deno.UnsafePointer.value(cq as Deno.PointerValue));
  assertEquals(recorder.unacknowledged(), 1);
  call("ibv_destroy_cq", cq);
  call("ibv_ack_async_event", event);
  call("ibv_ack_async_event", event);
  assertEquals(recorder.violations(), [
    "cq0 ends with 1 events that are not acknowledged",
    "ibv_ack_async_event: the object ended before its event was acknowledged",
    "ibv_ack_async_event: more events are acknowledged than were read",
    "ibv_ack_async_event: the object ended before its event was acknowledged",
  ]);
});

Deno.test("The recorder has every exported verb, and every op of a context", () => {
  const missing = Object.entries<AnyRow>(rows())
    .filter(([name, row]) => isNative(row) && !("op" in row) && !hasSymbol(row.symbol ?? name));
  assertEquals(missing, []);
  const { ibv_context: context } = objects();
  const { verbs_context, ibv_context } = structs;
  const base = verbs_context.fields.context.offset;
  const extended: [string, Field][] = Object.entries(verbs_context.fields);
  const ops: [string, Field][] = Object.entries(ibv_context.fields);
  const all = [
    ...extended.filter(([name, { type }]) => type === "ptr" && !hasSymbol(`ibv_${name}`))
      .map(([name, { offset }]) => [name, offset - base] as const),
    ...ops.filter(([name]) => /^ops\.(?!_compat)/.test(name))
      .map(([name, { offset }]) => [name, offset] as const),
  ];
  const empty = all.filter(([, offset]) => numberAt(context, offset) === 0n);
  // libibverbs keeps its own state there.
  assertEquals(empty.map(([name]) => name), ["priv"]);
});

Deno.test("The recorder notices readers and steps out of place in polling", () => {
  const { ibv_cq_ex: cq } = objects();
  const attr = Deno.UnsafePointer.of(allocStruct(structs.ibv_poll_cq_attr));
  recorder.complete("cq0", { wr_id: 7n, byte_len: 9 });
  call("ibv_next_poll", cq);
  assertEquals(recorder.violations(), ["ibv_next_poll: the queue is not polled"]);
  recorder.complete("cq0", { wr_id: 8n });
  assertEquals(call("ibv_start_poll", cq, attr), 0);
  call("ibv_wc_read_cvlan", cq);
  assertEquals(recorder.violations(), ["ibv_wc_read_cvlan: the queue was not made to tell"]);
  assertEquals(errnoName(call("ibv_next_poll", cq) as number), "ENOENT");
  call("ibv_destroy_cq", cq);
  assertEquals(recorder.violations(), [
    "ibv_destroy_cq: the queue is between ibv_start_poll and ibv_end_poll",
  ]);
});

Deno.test("The recorder notices builders out of place", () => {
  const { ibv_qp_ex: qp } = objects();
  for (const verb of ["send", "complete", "start", "start"]) call(`ibv_wr_${verb}`, qp);
  assertEquals(recorder.violations(), [
    "ibv_wr_send: the queue pair is not between ibv_wr_start and ibv_wr_complete",
    "ibv_wr_send: the queue pair was not made for it",
    "ibv_wr_complete: the queue pair has no requests under way",
    "ibv_wr_start: the queue pair has requests under way",
  ]);
});

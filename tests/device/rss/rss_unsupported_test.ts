// What a device without work queues answers: rxe.
import { assertEquals, assertStringIncludes } from "@std/assert";
import { errno, errnoName } from "../../../ffi/errno.ts";
import { structs } from "../../../ffi/layout.ts";
import { verbs } from "../../../ffi/library.ts";
import { bufferAddress, bufferPointer, handleAddress } from "../../../ffi/pointers.ts";
import { allocStruct, writeField } from "../../../ffi/struct.ts";
import {
  type Context,
  type IbvRwqIndTable,
  type IbvWq,
  QpType,
  type VerbsError,
  WorkQueue,
} from "../../../mod.ts";
import { deviceTest, openRxe, rxe } from "../setup.ts";
import { assertFails, hashOverAll } from "../stub.ts";

function assertNotSupported(error: VerbsError): void {
  assertEquals(error.notSupported, true);
  assertStringIncludes(error.message, "gave EOPNOTSUPP");
}

deviceTest("new WorkQueue() is not supported on rxe", () => {
  using device = rxe();
  const init = { maxWr: 1, maxSge: 1, cq: device.cq };
  const error = assertFails(() => new WorkQueue(device.pd, init), "ibv_create_wq", "EOPNOTSUPP");
  assertNotSupported(error);
  assertStringIncludes(error.hint!, "The device has no work queues");
});

deviceTest("ibv_create_rwq_ind_table() is not supported on rxe", () => {
  using context = openRxe();
  // rxe cannot make a work queue, so the class cannot reach the verb. The list is there, and not read.
  const list = new BigUint64Array(1);
  const attr = allocStruct(structs.ibv_rwq_ind_table_init_attr);
  writeField(attr, structs.ibv_rwq_ind_table_init_attr.fields.ind_tbl, bufferAddress(list));
  const table = verbs().ibv_create_rwq_ind_table(context.unsafeHandle, attr);
  assertEquals([table, errnoName(errno())], [null, "EOPNOTSUPP"]);
});

deviceTest("new QueuePair() with a hash is not supported on rxe", () => {
  using device = rxe();
  const make = (): unknown => device.newQp(QpType.UD, { rxHashConf: hashOverAll() });
  assertNotSupported(assertFails(make, "ibv_create_qp_ex", "EOPNOTSUPP"));
});

/** The place of an object that rxe never makes: all that the verbs read of it is its context. */
function posing(context: Context, size: number): DataView<ArrayBuffer> {
  const object = new DataView(new ArrayBuffer(size));
  const { offset } = structs.ibv_wq.fields.context;
  writeField(object, { offset, type: "ptr" }, handleAddress(context.unsafeHandle));
  return object;
}

deviceTest("Verbs that change and destroy work queues are not supported on rxe", () => {
  using context = openRxe();
  const { ibv_modify_wq, ibv_destroy_wq, ibv_destroy_rwq_ind_table } = verbs();
  const object = posing(context, structs.ibv_wq.size);
  const pointer = bufferPointer(object);
  const results = [
    ibv_modify_wq(pointer as IbvWq, allocStruct(structs.ibv_wq_attr)),
    ibv_destroy_wq(pointer as IbvWq),
    ibv_destroy_rwq_ind_table(pointer as IbvRwqIndTable),
  ];
  assertEquals(results.map(errnoName), ["EOPNOTSUPP", "EOPNOTSUPP", "EOPNOTSUPP"]);
});

// What verbs answer that the installed libibverbs does not have.
import { assertEquals, assertThrows } from "@std/assert";
import { errno, setErrno } from "../../ffi/errno.ts";
import type { IbvQpEx } from "../../ffi/handles.ts";
import { bindNonblocking, bindVerb, type Calls } from "../../ffi/library/bind.ts";
import { hasSymbol, libibverbs } from "../../ffi/library/discovery.ts";
import { hasOwnOp } from "../../ffi/library/ops.ts";
import { bufferPointer } from "../../ffi/pointers.ts";
import { constants, structs } from "../../ffi/layout.ts";
import { SystemError } from "../../ffi/system_error.ts";
import type { NativeRow } from "../../ffi/table/row.ts";
import { prototypes } from "./header.ts";

// opened here, not in a test: it is never closed
hasSymbol("ibv_open_device");

const NONE: Calls = {
  library: libibverbs,
  bind: () => {
    throw new Error("nothing is bound");
  },
  bindNonblocking: () => {
    throw new Error("nothing is bound");
  },
};

function call(fails: NativeRow["fails"], result: NativeRow["result"]): unknown {
  const row = { parameters: [], result, fails, symbol: "ibv_no_such_function" } as NativeRow;
  return bindVerb(() => NONE, {}, "ibv_no_such_verb", row)();
}

Deno.test("A verb that is not installed fails in its own way", () => {
  assertEquals(call("code", "i32"), constants.EOPNOTSUPP);
  assertEquals(call("negative", "i32"), -constants.EOPNOTSUPP);
  assertEquals(call("negative", "isize"), BigInt(-constants.EOPNOTSUPP));
  for (const [result, value] of [["pointer", null], ["u64", 0n], ["i32", -1]] as const) {
    setErrno(0);
    assertEquals([call("errno", result), errno()], [value, constants.EOPNOTSUPP]);
  }
  assertThrows(
    () => call("never", "void"),
    SystemError,
    "not supported by the installed libibverbs",
  );
});

Deno.test("A verb that is not installed fails on another thread too", async () => {
  const row = { parameters: [], result: "pointer", fails: "errno", symbol: "ibv_no_such" } as const;
  const outcome = await bindNonblocking(NONE, "ibv_no_such_verb", row)();
  assertEquals(outcome, { value: null, errno: constants.EOPNOTSUPP });
});

Deno.test("hasOwnOp() finds newer builders only in a libibverbs whose ibv_qp_ex has them", async () => {
  const { size } = structs.ibv_qp_ex;
  const qp = bufferPointer(new Uint8Array(size + 64).fill(1)) as IbvQpEx;
  const header = new Set((await prototypes()).map(({ name }) => name));
  for (const op of ["wr_send", "wr_atomic_write", "wr_flush"] as const) {
    assertEquals(hasOwnOp(qp, "ibv_qp_ex", op), header.has(`ibv_${op}`), op);
  }
});

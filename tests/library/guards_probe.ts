// Prints for each guarded verb, and each way in which its op can be missing, what the header's function and ours answer,
// and whether ours reached an op.
import { errno } from "../../ffi/errno.ts";
import { callVerb, cString, extendedOffset, guardedRows, type OpRow, targets } from "./op_calls.ts";

const POINTERS = 0;
const SIZE = 1;
const ABI = 2;

interface Answer {
  readonly value: string;
  readonly errno: number;
}

/** What is told of a verb by its result and errno: errno counts only where the verb reports by it. */
function told(value: unknown, { fails }: OpRow, code: number): Answer {
  return { value: `${value ?? 0}`, errno: fails === "errno" ? code : 0 };
}

function ours(name: string, row: OpRow): Answer & { readonly reached: boolean } {
  targets.last_reached();
  const answer = told(callVerb(name, row), row, errno());
  return { ...answer, reached: targets.last_reached() >= 0 };
}

function header(name: string, row: OpRow): Answer {
  const answer = new BigInt64Array(1);
  const code = targets.header_answers(cString(name), answer);
  return told(answer[0], row, code);
}

/** The header calls these without looking whether the op is there. */
const UNCHECKED = [
  "ibv_close_xrcd",
  "ibv_dealloc_mw",
  "ibv_bind_mw",
  "ibv_memcpy_to_dm",
  "ibv_memcpy_from_dm",
];
/** Without the op these call an exported function, which takes a real context. */
const FALLING_BACK = ["ibv_query_device_ex", "ibv_query_port"];

function examine([name, row]: [string, OpRow]): unknown {
  const at = extendedOffset(row);
  const lacks = at === undefined ? [POINTERS] : [POINTERS, SIZE, ABI];
  const answers = lacks.map((lack) => {
    targets.prepare_lacking(lack);
    const expected = UNCHECKED.includes(name) ? null : header(name, row);
    return { expected, ours: ours(name, row) };
  });
  if (at === undefined) return { name, answers };
  targets.prepare();
  targets.shrink_to(at, 0);
  const newest = ours(name, row).reached;
  targets.shrink_to(at, 1);
  return { name, answers, newest, tooOld: ours(name, row).reached };
}

const examined = guardedRows.filter(([name]) => !FALLING_BACK.includes(name));
console.log(JSON.stringify(examined.map(examine)));

/**
 * Compares addresses of completions with those of C, in a guest: `in_guest.ts SEED PAIRS`.
 *
 * @module
 */

import {
  type AhAttr,
  type Context,
  Grh,
  initAhFromWc,
  ProtectionDomain,
  ReplyPath,
  VerbsError,
  WorkCompletion,
} from "../../mod.ts";
import { type Field, structs } from "../../ffi/layout.ts";
import { camelCase, fieldBytes, writeField } from "../../ffi/struct.ts";
import { main } from "../../rxe/host/report.ts";
import { compare, type Implementation, WC } from "../../tests/device/differential.ts";
import { openRxe, PORT, RXE } from "../../tests/device/setup.ts";

/** How many pairs to leave in whose GID is not in the table: C takes milliseconds for each. */
const MISSES = 600;

function binding(context: Context): Implementation {
  const write = (
    view: DataView<ArrayBuffer>,
    at: number,
    pair: Uint8Array<ArrayBuffer>,
  ): number => {
    const wc = new WorkCompletion(new DataView(pair.buffer, 0, WC), 0);
    let attr: AhAttr;
    try {
      attr = initAhFromWc(context, PORT, wc, new Grh(pair.subarray(WC)));
    } catch (error) {
      if (error instanceof VerbsError) return error.errno;
      throw error;
    }
    writeAll(view, at, attr);
    return 0;
  };
  return { name: "initAhFromWc()", write };
}

/** Writes what the verb has returned. A completion can give a service level that a caller must not. */
function writeAll(view: DataView<ArrayBuffer>, at: number, attr: AhAttr): void {
  const { fields } = structs.ibv_ah_attr;
  for (const [name, field] of Object.entries<Field>(fields)) {
    // The GID is written as its bytes.
    if (field.type === "bytes" || field.type === "be64") continue;
    const value = camelCase(name).split(".")
      .reduce<unknown>((part, name) => (part as Record<string, unknown>)[name], attr);
    writeField(view, field, Number(value), at);
  }
  fieldBytes(view, structs.ibv_global_route.fields.dgid, at + fields.grh.offset)
    .set(attr.grh.dgid.bytes);
}

await main(async () => {
  const [seed, count] = Deno.args.map(Number) as [number, number];
  using context = openRxe();
  using pd = new ProtectionDomain(context);
  using path = new ReplyPath(pd, { port: PORT });
  const others = [binding(context)];
  const counts = await compare({ device: RXE, context, path, others, count, seed, misses: MISSES });
  const outcomes = [...counts].map(([errno, count]) => `${count} with errno ${errno}`);
  console.log(
    `${count} pairs are the same in C, ReplyPath and initAhFromWc(): ${outcomes.join(", ")}`,
  );
  return 0;
});

/** The recording provider, on which the targets run that need a device. */

import type { RecordedStruct } from "../../tests/provider/records.ts";
import { same } from "./target.ts";

/** The recording provider. Loading it takes the place of libibverbs. */
export const provider = (): Promise<typeof import("../../tests/provider/recorder.ts")> =>
  import("../../tests/provider/recorder.ts");

export type Recorder = Awaited<ReturnType<typeof provider>>;

/**
 * Runs a round on a fresh provider: at its end nothing of it is left, and nothing was done that none may do. Returns the
 * number of inputs.
 */
export async function recorded<T>(
  inputs: readonly T[],
  body: (inputs: readonly T[]) => Promise<unknown>,
): Promise<number> {
  const recorder = await provider();
  recorder.reset();
  try {
    await body(inputs);
  } finally {
    // Closing goes on for a moment after a failure, too.
    for (let i = 0; recorder.live() > 0 && i < 200; i++) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
  recorder.take();
  same(recorder.violations(), [], "what no program may do");
  same(recorder.live(), 0, "objects that are left");
  return inputs.length;
}

/** A receive that was posted, and its memory. */
export interface Posted {
  readonly id: bigint;
  readonly memory: Uint8Array<ArrayBuffer>;
}

/** The receives that were posted since the last call. */
export function takePosted(recorder: Recorder): Posted[] {
  return recorder.takeOf("ibv_post_recv").flatMap(({ args }) => {
    const structs = Object.entries(args).filter(([, value]) => typeof value === "object");
    return structs.filter(([name]) => !name.includes(".")).map(([name, request]): Posted => {
      const { wr_id: id } = (request as RecordedStruct).fields;
      const { bytes } = args[`${name}.sg_list`] as RecordedStruct;
      const sge = new DataView(bytes.buffer, bytes.byteOffset);
      const pointer = Deno.UnsafePointer.create(sge.getBigUint64(0, true))!;
      const memory = Deno.UnsafePointerView.getArrayBuffer(pointer, sge.getUint32(8, true));
      return { id: id as bigint, memory: new Uint8Array(memory) };
    });
  });
}

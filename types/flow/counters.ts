import type { IbvCounters, IbvFlow } from "../../ffi/handles.ts";
import { type CEnum, structs } from "../../ffi/layout.ts";
import { members } from "../../ffi/members.ts";
import { allocStruct } from "../../ffi/struct.ts";
import { integer, uint32 } from "../../internal/checks.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import { instance } from "../core/checks.ts";
import { call } from "../core/errors.ts";
import { type NativeKind, NativeResource } from "../core/native_resource.ts";
import { isResource, kindOf, type Resource, rootOf } from "../core/resource.ts";
import { Context } from "../device/context.ts";

/**
 * What a counter counts (`enum ibv_counter_description`).
 *
 * @category Flow steering
 */
export const CounterDescription: {
  /** Packets. */
  readonly PACKETS: CEnum.ibv_counter_description.IBV_COUNTER_PACKETS;
  /** Bytes. */
  readonly BYTES: CEnum.ibv_counter_description.IBV_COUNTER_BYTES;
} = members("ibv_counter_description", "IBV_COUNTER_");
/**
 * A value of `CounterDescription`.
 *
 * @category Flow steering
 */
export type CounterDescription = typeof CounterDescription[keyof typeof CounterDescription];

/**
 * How counters are read (`enum ibv_read_counters_flags`), to be combined with `|`.
 *
 * @category Flow steering
 */
export const ReadCountersFlags: {
  /** Values of the driver's cache suffice. */
  readonly PREFER_CACHED: CEnum.ibv_read_counters_flags.IBV_READ_COUNTERS_ATTR_PREFER_CACHED;
} = members("ibv_read_counters_flags", "IBV_READ_COUNTERS_ATTR_");

/**
 * A counting point (`struct ibv_counter_attach_attr`).
 *
 * @category Flow steering
 */
export interface CounterAttachAttr {
  /** What is counted. */
  readonly counterDesc: CounterDescription;
  /** The index of the counter in `Counters.read`, from 0. */
  readonly index: number;
}

const attachAttr: AttributeCodec<CounterAttachAttr> = codecOf(
  "ibv_counter_attach_attr",
  "counter",
  {
    counterDesc: { values: CounterDescription, required: true },
    index: { required: true },
  },
);

/** Far more than any device has: it bounds the memory of a read. */
const MAX_COUNTERS = 65_536;

/**
 * A set of counters (`struct ibv_counters`). Attach counting points first, then name the set in the specifications of a
 * flow with `FlowSpecType`.ACTION_COUNT, then read.
 *
 * @experimental Not tested on any device: it has only run on a library that records calls.
 * @category Flow steering
 */
export class Counters extends NativeResource<IbvCounters> {
  static readonly #kind: NativeKind<IbvCounters, Counters> = {
    name: "counters",
    destroy: (handle) => call("ibv_destroy_counters", "destroy counters", [handle]),
    describe: ({ context }) => ({ device: context.device.name }),
  };
  /** The device they belong to. */
  readonly context: Context;

  /**
   * Makes a set of counters (`ibv_create_counters`).
   *
   * @throws {VerbsError} If the device refuses, or has no counters (EOPNOTSUPP).
   */
  constructor(context: Context) {
    instance(context, Context, "context");
    const init = allocStruct(structs.ibv_counters_init_attr);
    const handle = call("ibv_create_counters", "create counters", [context.unsafeHandle, init]);
    super(Counters.#kind, handle, [context]);
    this.context = context;
  }

  /**
   * Attaches a counting point (`ibv_attach_counters_point_flow`).
   *
   * @param flow A flow to count, for devices that attach to existing flows. If it is left out, the counting point is
   * for the flows that are made later.
   * @throws {TypeError} If the flow is disposed or of another context.
   */
  attach(
    attr: CounterAttachAttr,
    flow?: Resource & { readonly context: Context; readonly unsafeHandle: IbvFlow },
  ): void {
    const { view, given } = attachAttr.write(attr);
    // The class of flows imports this file, so flows are recognised by their kind.
    const isFlow = (value: Resource): boolean => isResource(value) && kindOf(value) === "flow";
    if (flow !== undefined && (!isFlow(flow) || rootOf(flow) !== rootOf(this))) {
      throw new TypeError("Cannot attach counter: flow is not a flow of the same context");
    }
    const args = [this.unsafeHandle, view, (flow?.unsafeHandle ?? null) as IbvFlow] as const;
    call("ibv_attach_counters_point_flow", "attach counter", args, {
      detail: () => `index ${given.index}`,
    });
  }

  /**
   * Reads the counters from index 0 on (`ibv_read_counters`).
   *
   * @param count The number of counters, at least 1.
   * @param flags `ReadCountersFlags`, combined; none if left out.
   */
  read(count: number, flags: number = 0): bigint[] {
    const values = new BigUint64Array(integer(count, "count", 1, MAX_COUNTERS));
    uint32(flags, "flags");
    call("ibv_read_counters", "read counters", [this.unsafeHandle, values, count, flags], {
      detail: () => `${count} counters`,
    });
    return [...values];
  }
}

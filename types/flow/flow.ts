import type { IbvFlow } from "../../ffi/handles.ts";
import type { CEnum } from "../../ffi/layout.ts";
import { members } from "../../ffi/members.ts";
import { snapshot } from "../../internal/checks.ts";
import { type AttributeCodec, codecOf, type Written } from "../core/attributes.ts";
import { causeOf, type Causes } from "../core/causes.ts";
import { instance } from "../core/checks.ts";
import { nameOf } from "../core/enums.ts";
import { call } from "../core/errors.ts";
import { type NativeKind, NativeResource } from "../core/native_resource.ts";
import { rootOf } from "../core/resource.ts";
import { checkPort, type Context } from "../device/context.ts";
import { QpType } from "../queue_pair/qp_enums.ts";
import { QueuePair } from "../queue_pair/queue_pair.ts";
import { type FlowSpec, writeSpecs } from "./flow_spec.ts";
import { FlowSpecType } from "./flow_filter.ts";

/**
 * Kinds of steering rule (`enum ibv_flow_attr_type`).
 *
 * @category Flow steering
 */
export const FlowAttrType: {
  /** Packets that match all specifications. */
  readonly NORMAL: CEnum.ibv_flow_attr_type.IBV_FLOW_ATTR_NORMAL;
  /** All packets of the port that no other rule steers. */
  readonly ALL_DEFAULT: CEnum.ibv_flow_attr_type.IBV_FLOW_ATTR_ALL_DEFAULT;
  /** All multicast packets that no other rule steers. */
  readonly MC_DEFAULT: CEnum.ibv_flow_attr_type.IBV_FLOW_ATTR_MC_DEFAULT;
  /** All packets of the port. */
  readonly SNIFFER: CEnum.ibv_flow_attr_type.IBV_FLOW_ATTR_SNIFFER;
} = members("ibv_flow_attr_type", "IBV_FLOW_ATTR_");
/**
 * A value of `FlowAttrType`.
 *
 * @category Flow steering
 */
export type FlowAttrType = typeof FlowAttrType[keyof typeof FlowAttrType];

/**
 * How a rule works (`enum ibv_flow_flags`), to be combined with `|`.
 *
 * @category Flow steering
 */
export const FlowFlags: {
  /** Other rules see the packet too. */
  readonly DONT_TRAP: CEnum.ibv_flow_flags.IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
  /** The rule is for packets that are sent. */
  readonly EGRESS: CEnum.ibv_flow_flags.IBV_FLOW_ATTR_FLAGS_EGRESS;
} = members("ibv_flow_flags", "IBV_FLOW_ATTR_FLAGS_");

/**
 * A steering rule (`struct ibv_flow_attr`).
 *
 * @category Flow steering
 */
export interface FlowAttr {
  /** The kind of rule; `NORMAL` if left out. */
  readonly type?: FlowAttrType | undefined;
  /** The priority, 0 to 65535; 0 is the highest, and the value if left out. */
  readonly priority?: number | undefined;
  /** The port, counted from 1. */
  readonly port: number;
  /** `FlowFlags`, combined; none if left out. */
  readonly flags?: number | undefined;
  /** Conditions and actions, outermost header first; none if left out. */
  readonly specs?: readonly FlowSpec[] | undefined;
}

const MAX_SPECS = 255;

const flowAttr: AttributeCodec<FlowAttr, FlowAttr, { size: number; numOfSpecs: number }> = codecOf(
  "ibv_flow_attr",
  "flow",
  {
    type: { values: FlowAttrType },
    priority: {},
    port: { required: true },
    flags: {},
    specs: { other: true },
    size: { own: true },
    numOfSpecs: { own: true },
  },
);

/**
 * A steering rule on a queue pair (`struct ibv_flow`). Packets that match it are received by the queue pair. Disposing it
 * removes the rule. It needs the capability CAP_NET_RAW.
 *
 * @example A rule for the UDP packets of one port
 * ```ts
 * import { Flow, FlowSpecType, type QueuePair } from "@rdma/ibverbs";
 *
 * function steer(qp: QueuePair, dstPort: number): Flow {
 *   const specs = [{ type: FlowSpecType.UDP, val: { dstPort }, mask: { dstPort: 0xffff } }];
 *   return new Flow(qp, { port: 1, specs });
 * }
 * ```
 *
 * @category Flow steering
 */
export class Flow extends NativeResource<IbvFlow> {
  static readonly #kind: NativeKind<IbvFlow, Flow> = {
    name: "flow",
    destroy: (handle) => call("ibv_destroy_flow", "destroy flow", [handle]),
    describe: ({ qp }) => ({ qpNum: qp.qpNum }),
  };
  /** The queue pair that receives the packets. */
  readonly qp: QueuePair;
  /** The device it belongs to. */
  readonly context: Context;

  /**
   * Adds a steering rule (`ibv_create_flow`).
   *
   * @param qp The queue pair that receives the packets, of type RAW_PACKET or UD.
   * @throws {TypeError} Also if an object is of another context.
   * @throws {RangeError} Also if there are more than 255 specifications.
   * @throws {VerbsError} If the device refuses: EPERM without CAP_NET_RAW, EOPNOTSUPP if it has no flow steering.
   */
  constructor(qp: QueuePair, attr: FlowAttr) {
    instance(qp, QueuePair, "qp");
    const given = snapshot(attr, "flow", flowAttr.names);
    const specs = writeSpecs(given.specs ?? []);
    const view = join(given, specs);
    const context = rootOf(qp) as Context;
    checkPort(context, given.port, "port");
    const parts = specs.flatMap(({ given: { action, counters } }) => action ?? counters ?? []);
    // The kernel identifies objects by numbers that mean other objects in another context.
    if (parts.some((part) => rootOf(part) !== context)) {
      throw new TypeError(
        "Cannot create flow: a specification's object belongs to another context",
      );
    }
    const handle = call("ibv_create_flow", "create flow", [qp.unsafeHandle, view], {
      detail: () => describe(given, specs),
      hint: (code) => causeOf(FLOW_CAUSES, code, { type: qp.qpType, attr: given }),
    });
    super(Flow.#kind, handle, [qp, ...parts]);
    this.qp = qp;
    this.context = context;
  }
}

/** Providers read the specifications right behind the struct. */
function join(given: FlowAttr, specs: readonly Written<object>[]): DataView<ArrayBuffer> {
  if (specs.length > MAX_SPECS) {
    throw new RangeError(
      `Cannot create flow: it has ${specs.length} specifications of at most 255`,
    );
  }
  for (const { writeHandles } of specs) writeHandles();
  const written = specs.flatMap(({ view }) => [...new Uint8Array(view.buffer)]);
  const size = flowAttr.size + written.length;
  const whole = new Uint8Array(size);
  whole.set(written, flowAttr.size);
  const view = new DataView(whole.buffer);
  return flowAttr.write(given, { size, numOfSpecs: specs.length }, view).view;
}

function describe(
  { type = FlowAttrType.NORMAL, port }: FlowAttr,
  specs: ReturnType<typeof writeSpecs>,
): string {
  const names = specs.map(({ given }) => nameOf(FlowSpecType, given.type! & ~FlowSpecType.INNER));
  return [`${nameOf(FlowAttrType, type)} rule on port ${port}`, ...names].join(", ");
}

export const FLOW_CAUSES: Causes<{ readonly type: QpType; readonly attr: FlowAttr }> = [
  [
    "EINVAL",
    "Packets are steered to queue pairs of type UD and RAW_PACKET, and this one is {name}",
    ({ type }) =>
      type !== QpType.UD && type !== QpType.RAW_PACKET && { name: nameOf(QpType, type) },
  ],
  [
    "EINVAL",
    "The device does not take this rule: its kind, its port, its priority, a specification or a mask",
  ],
  // mlx5 accepts a second rule for the same packets if it only adds a queue pair.
  [
    "EEXIST",
    "A rule for the same packets has another tag or another action, of this program or of another one",
  ],
  // mlx5 also reports a priority that is too large like this.
  [
    "ENOMEM",
    "The device has no room for a further rule, or none with priority {priority}: close some, or give a smaller priority",
    ({ attr: { priority = 0 } }) => priority > 0 && { priority },
  ],
  ["ENOMEM, ENOSPC", "The device has no room for a further rule: close some"],
  [
    "ENXIO",
    "Flow steering is off on this device. mlx4 has the module parameter log_num_mgm_entry_size for it",
  ],
  ["EPERM", "Flow steering needs the capability CAP_NET_RAW"],
  [
    "EOPNOTSUPP",
    "The device, its provider or its firmware has no flow steering, or not this kind of rule",
  ],
];

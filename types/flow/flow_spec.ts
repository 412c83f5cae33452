import { cutTo } from "../../internal/caller.ts";
import { type Structs, structs } from "../../ffi/layout.ts";
import { boolean, listOf, show, snapshot } from "../../internal/checks.ts";
import { once } from "../../internal/runtime.ts";
import { AttributeCodec, type RuleOf, type Written } from "../core/attributes.ts";
import { nameOf } from "../core/enums.ts";
import { Counters } from "./counters.ts";
import { FlowActionEsp } from "./flow_action_esp.ts";
import { filters, type FlowFilters, FlowSpecType } from "./flow_filter.ts";

/**
 * A condition of a steering rule: a header that a packet must have.
 *
 * @category Flow steering
 */
export interface FlowHeaderSpec<Header extends keyof FlowFilters> {
  /** Which header it is. */
  readonly type: typeof FlowSpecType[Header];
  /** The values of its fields. */
  readonly val: FlowFilters[Header];
  /** The bits of its fields that are compared. A field that is left out is not compared. */
  readonly mask: FlowFilters[Header];
  /** Whether it is a header of the encapsulated packet. The default is false. */
  readonly inner?: boolean | undefined;
}

/**
 * An action of a steering rule: marks packets.
 *
 * @category Flow steering
 */
export interface FlowTagSpec {
  /** The action. */
  readonly type: typeof FlowSpecType.ACTION_TAG;
  /** The tag, 32 bits. Extended completions carry it. */
  readonly tagId: number;
}

/**
 * An action of a steering rule: drops packets.
 *
 * @category Flow steering
 */
export interface FlowDropSpec {
  /** The action. */
  readonly type: typeof FlowSpecType.ACTION_DROP;
}

/**
 * An action of a steering rule: applies another object to packets.
 *
 * @category Flow steering
 */
export interface FlowHandleSpec {
  /** The action. */
  readonly type: typeof FlowSpecType.ACTION_HANDLE;
  /** What is applied. The flow keeps it. */
  readonly action: FlowActionEsp;
}

/**
 * An action of a steering rule: counts packets.
 *
 * @category Flow steering
 */
export interface FlowCountSpec {
  /** The action. */
  readonly type: typeof FlowSpecType.ACTION_COUNT;
  /** What counts them. The flow keeps it. */
  readonly counters: Counters;
}

/**
 * A condition or an action of a steering rule (`struct ibv_flow_spec`). A packet meets a condition if each field of the
 * header, masked by `mask`, equals the same field of `val`. A field that `mask` leaves out is not compared. The header of
 * the encapsulated packet is compared if `inner` is true.
 *
 * `ACTION_TAG` marks packets with a tag of 32 bits, which extended completions carry. `ACTION_DROP` drops them,
 * `ACTION_HANDLE` applies an action and `ACTION_COUNT` counts them. The flow keeps these objects.
 *
 * @category Flow steering
 */
export type FlowSpec =
  | { [Header in keyof FlowFilters]: FlowHeaderSpec<Header> }[keyof FlowFilters]
  | FlowTagSpec
  | FlowDropSpec
  | FlowHandleSpec
  | FlowCountSpec;

const T = FlowSpecType;

/** A specification of any type, as the codecs read it. */
interface AnySpec {
  readonly type?: number | undefined;
  readonly val?: object | undefined;
  readonly mask?: object | undefined;
  readonly inner?: boolean | undefined;
  readonly tagId?: number | undefined;
  readonly action?: FlowActionEsp | undefined;
  readonly counters?: Counters | undefined;
}
const NAMES = ["type", "val", "mask", "inner", "tagId", "action", "counters"] as const;

type Rule = { readonly [K in keyof AnySpec]?: RuleOf<NonNullable<AnySpec[K]>> | undefined };

function codecFor(
  type: number,
  layout: keyof Structs,
  rules: Rule,
): readonly [number, AttributeCodec<AnySpec>] {
  const what = `spec of type ${nameOf(T, type)}`;
  const size = { own: true, fallback: structs[layout].size };
  const all = { type: { derive: withInner }, size, ...rules } as never;
  return [type, new AttributeCodec<AnySpec>(layout, what, all)];
}

function withInner({ type, inner }: Readonly<Record<string, unknown>>): number {
  const flag = boolean(inner as boolean | undefined ?? false, "inner") ? T.INNER : 0;
  return (type as number) | flag;
}

/** The codec of each type. */
const codecs = once((): ReadonlyMap<unknown, AttributeCodec<AnySpec>> =>
  new Map([
    ...Array.from(filters(), ([type, [layout, struct]]) =>
      codecFor(type, layout, {
        inner: { other: true },
        val: { struct, required: true },
        mask: { struct, required: true },
      })),
    codecFor(T.ACTION_TAG, "ibv_flow_spec_action_tag", { tagId: { required: true } }),
    codecFor(T.ACTION_DROP, "ibv_flow_spec_action_drop", {}),
    codecFor(T.ACTION_HANDLE, "ibv_flow_spec_action_handle", {
      action: { resource: FlowActionEsp, required: true },
    }),
    codecFor(T.ACTION_COUNT, "ibv_flow_spec_counter_action", {
      counters: { resource: Counters, required: true },
    }),
  ])
);

/** Reads the specifications of a rule and writes each into a struct. */
export function writeSpecs(specs: readonly FlowSpec[]): Written<AnySpec>[] {
  return cutTo(writeSpecs, () => listOf(specs, "specs").map(writeSpec));
}

function writeSpec(given: FlowSpec): Written<AnySpec> {
  const spec = snapshot<AnySpec>(given, "spec", NAMES);
  const codec = codecs().get(spec.type);
  if (codec !== undefined) return codec.write(spec);
  throw new RangeError(`Cannot use spec type ${show(spec.type)}: it is no FlowSpecType`);
}

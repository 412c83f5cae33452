/**
 * The conditions and actions of a steering rule.
 *
 * @module
 */

import { structs } from "../../ffi/layout.ts";
import { handleAddress } from "../../ffi/pointers.ts";
import { allocStruct, writeField } from "../../ffi/struct.ts";
import type { AttributeCodec } from "../core/attributes.ts";
import { boolean, instance, listOf, show, snapshot, uint32 } from "../core/checks.ts";
import type { NativeResource } from "../core/native_resource.ts";
import { Counters } from "./counters.ts";
import { FlowActionEsp } from "./flow_action_esp.ts";
import type { FlowFilters } from "./flow_filter.ts";
import { type FilterLayout, FILTERS, FlowSpecType } from "./flow_spec_type.ts";

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
  | {
    [Header in keyof FlowFilters]: {
      readonly type: typeof FlowSpecType[Header];
      readonly val: FlowFilters[Header];
      readonly mask: FlowFilters[Header];
      readonly inner?: boolean;
    };
  }[keyof FlowFilters]
  | { readonly type: typeof FlowSpecType.ACTION_TAG; readonly tagId: number }
  | { readonly type: typeof FlowSpecType.ACTION_DROP }
  | { readonly type: typeof FlowSpecType.ACTION_HANDLE; readonly action: FlowActionEsp }
  | { readonly type: typeof FlowSpecType.ACTION_COUNT; readonly counters: Counters };

/** A specification in native layout. */
export interface WrittenSpec {
  /** The struct. */
  readonly view: DataView<ArrayBuffer>;
  /** The object whose pointer the struct holds, and where. */
  readonly part?: { readonly offset: number; readonly resource: NativeResource };
}

const T = FlowSpecType;

const NAMES = ["type", "val", "mask", "inner", "tagId", "action", "counters"] as const;

interface AnySpec {
  readonly type?: number;
  readonly val?: object;
  readonly mask?: object;
  readonly inner?: boolean;
  readonly tagId?: number;
  readonly action?: FlowActionEsp;
  readonly counters?: Counters;
}

/** Reads the specifications of a rule and writes each into a struct. Pointers of objects are left for later. */
export function writeSpecs(specs: readonly FlowSpec[]): WrittenSpec[] {
  return listOf(specs, "specs").map((spec) => writeSpec(snapshot<AnySpec>(spec, "spec", NAMES)));
}

/** Writes the pointer of the object that a specification names. Call it when no code of the caller runs any more. */
export function writePart({ view, part }: WrittenSpec): void {
  if (part === undefined) return;
  const pointer = handleAddress(part.resource.unsafeHandle);
  writeField(view, { offset: part.offset, type: "ptr" }, pointer);
}

function writeSpec(spec: AnySpec): WrittenSpec {
  const filter = FILTERS.get(spec.type);
  if (filter !== undefined) return { view: writeFilter(spec, ...filter) };
  refuse(spec, ["val", "mask", "inner"]);
  switch (spec.type) {
    case T.ACTION_TAG:
      return writeTag(spec);
    case T.ACTION_DROP:
      refuse(spec, ["tagId", "action", "counters"]);
      return { view: header("ibv_flow_spec_action_drop", spec.type) };
    case T.ACTION_HANDLE: {
      refuse(spec, ["tagId", "counters"]);
      const { offset } = structs.ibv_flow_spec_action_handle.fields.action;
      const resource = instance(spec.action, FlowActionEsp, "action");
      return { view: header("ibv_flow_spec_action_handle", spec.type), part: { offset, resource } };
    }
    case T.ACTION_COUNT: {
      refuse(spec, ["tagId", "action"]);
      const { offset } = structs.ibv_flow_spec_counter_action.fields.counters;
      const resource = instance(spec.counters, Counters, "counters");
      return {
        view: header("ibv_flow_spec_counter_action", spec.type),
        part: { offset, resource },
      };
    }
    default:
      throw new RangeError(`Cannot use spec type ${show(spec.type)}: it is no FlowSpecType`);
  }
}

function refuse(spec: AnySpec, names: readonly (keyof AnySpec)[]): void {
  const stray = names.find((name) => spec[name] !== undefined);
  if (stray !== undefined) {
    throw new TypeError(`Cannot use spec: ${stray} does not belong to its type`);
  }
}

function writeTag(spec: AnySpec): WrittenSpec {
  refuse(spec, ["action", "counters"]);
  const view = header("ibv_flow_spec_action_tag", T.ACTION_TAG);
  const tag = uint32(spec.tagId as number, "tagId");
  writeField(view, structs.ibv_flow_spec_action_tag.fields.tag_id, tag);
  return { view };
}

function writeFilter(
  spec: AnySpec,
  layout: FilterLayout,
  codec: AttributeCodec<object>,
): DataView<ArrayBuffer> {
  refuse(spec, ["tagId", "action", "counters"]);
  const inner = boolean(spec.inner ?? false, "inner") ? T.INNER : 0;
  const view = header(layout, spec.type! | inner);
  const { val, mask } = structs[layout].fields;
  codec.writeTo(view, val.offset, spec.val as object);
  codec.writeTo(view, mask.offset, spec.mask as object);
  return view;
}

function header(
  layout:
    | FilterLayout
    | "ibv_flow_spec_action_tag"
    | "ibv_flow_spec_action_drop"
    | "ibv_flow_spec_action_handle"
    | "ibv_flow_spec_counter_action",
  type: number,
): DataView<ArrayBuffer> {
  const { size, fields } = structs[layout];
  const view = allocStruct(structs[layout]);
  writeField(view, fields.type, type);
  writeField(view, fields.size, size);
  return view;
}

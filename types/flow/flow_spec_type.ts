import { type Members, members } from "../../ffi/members.ts";
import type { AttributeCodec } from "../core/attributes.ts";
import { filterCodecs } from "./flow_filter.ts";

/**
 * Kinds of flow specification (`enum ibv_flow_spec_type`).
 *
 * - `ETH`, `IPV4`, `IPV4_EXT`, `IPV6`, `ESP`, `TCP`, `UDP`, `VXLAN_TUNNEL`, `GRE`, `MPLS`: conditions on a header
 * - `INNER`: a flag for the headers of an encapsulated packet; `inner` of a {@linkcode FlowSpec} sets it
 * - `ACTION_TAG`: mark the packet; the completion carries the tag
 * - `ACTION_DROP`: drop the packet
 * - `ACTION_HANDLE`: apply a {@linkcode FlowActionEsp}
 * - `ACTION_COUNT`: count the packet in {@linkcode Counters}
 *
 * @category Flow steering
 */
export const FlowSpecType: Members<"ibv_flow_spec_type", "IBV_FLOW_SPEC_"> = members(
  "ibv_flow_spec_type",
  "IBV_FLOW_SPEC_",
);
/**
 * A value of {@linkcode FlowSpecType}.
 *
 * @category Flow steering
 */
export type FlowSpecType = typeof FlowSpecType[keyof typeof FlowSpecType];

/** The C structs of conditions. */
export type FilterLayout =
  | "ibv_flow_spec_eth"
  | "ibv_flow_spec_ipv4"
  | "ibv_flow_spec_ipv4_ext"
  | "ibv_flow_spec_ipv6"
  | "ibv_flow_spec_esp"
  | "ibv_flow_spec_tcp_udp"
  | "ibv_flow_spec_tunnel"
  | "ibv_flow_spec_gre"
  | "ibv_flow_spec_mpls";

const T = FlowSpecType;
/** The struct of each condition, and the codec of its fields. */
export const FILTERS: ReadonlyMap<
  number,
  readonly [layout: FilterLayout, fields: AttributeCodec<object>]
> = new Map(
  [
    [T.ETH, ["ibv_flow_spec_eth", filterCodecs.eth]],
    [T.IPV4, ["ibv_flow_spec_ipv4", filterCodecs.ipv4]],
    [T.IPV4_EXT, ["ibv_flow_spec_ipv4_ext", filterCodecs.ipv4Ext]],
    [T.IPV6, ["ibv_flow_spec_ipv6", filterCodecs.ipv6]],
    [T.ESP, ["ibv_flow_spec_esp", filterCodecs.esp]],
    [T.TCP, ["ibv_flow_spec_tcp_udp", filterCodecs.tcpUdp]],
    [T.UDP, ["ibv_flow_spec_tcp_udp", filterCodecs.tcpUdp]],
    [T.VXLAN_TUNNEL, ["ibv_flow_spec_tunnel", filterCodecs.tunnel]],
    [T.GRE, ["ibv_flow_spec_gre", filterCodecs.gre]],
    [T.MPLS, ["ibv_flow_spec_mpls", filterCodecs.mpls]],
  ] as const,
);

import type { Structs } from "../../ffi/layout.ts";
import type { CEnum } from "../../ffi/layout.ts";
import { members } from "../../ffi/members.ts";
import { show } from "../../internal/checks.ts";
import { once } from "../../internal/runtime.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import { formatAddress, parseAddress } from "../address/ip_address.ts";

/**
 * Kinds of flow specification (`enum ibv_flow_spec_type`).
 *
 * @category Flow steering
 */
export const FlowSpecType: {
  /** A condition on the Ethernet header. */
  readonly ETH: CEnum.ibv_flow_spec_type.IBV_FLOW_SPEC_ETH;
  /** A condition on the addresses of the IPv4 header. */
  readonly IPV4: CEnum.ibv_flow_spec_type.IBV_FLOW_SPEC_IPV4;
  /** A condition on the IPv6 header. */
  readonly IPV6: CEnum.ibv_flow_spec_type.IBV_FLOW_SPEC_IPV6;
  /** A condition on more of the IPv4 header: also its protocol, TOS, TTL and flags. */
  readonly IPV4_EXT: CEnum.ibv_flow_spec_type.IBV_FLOW_SPEC_IPV4_EXT;
  /** A condition on the ESP header. */
  readonly ESP: CEnum.ibv_flow_spec_type.IBV_FLOW_SPEC_ESP;
  /** A condition on the ports of the TCP header. */
  readonly TCP: CEnum.ibv_flow_spec_type.IBV_FLOW_SPEC_TCP;
  /** A condition on the ports of the UDP header. */
  readonly UDP: CEnum.ibv_flow_spec_type.IBV_FLOW_SPEC_UDP;
  /** A condition on the VXLAN header. */
  readonly VXLAN_TUNNEL: CEnum.ibv_flow_spec_type.IBV_FLOW_SPEC_VXLAN_TUNNEL;
  /** A condition on the GRE header. */
  readonly GRE: CEnum.ibv_flow_spec_type.IBV_FLOW_SPEC_GRE;
  /** A condition on the MPLS label. */
  readonly MPLS: CEnum.ibv_flow_spec_type.IBV_FLOW_SPEC_MPLS;
  /** A flag for the headers of an encapsulated packet; `inner` of a `FlowSpec` sets it. */
  readonly INNER: CEnum.ibv_flow_spec_type.IBV_FLOW_SPEC_INNER;
  /** Marks the packet; the completion carries the tag. */
  readonly ACTION_TAG: CEnum.ibv_flow_spec_type.IBV_FLOW_SPEC_ACTION_TAG;
  /** Drops the packet. */
  readonly ACTION_DROP: CEnum.ibv_flow_spec_type.IBV_FLOW_SPEC_ACTION_DROP;
  /** Applies a `FlowActionEsp`. */
  readonly ACTION_HANDLE: CEnum.ibv_flow_spec_type.IBV_FLOW_SPEC_ACTION_HANDLE;
  /** Counts the packet in `Counters`. */
  readonly ACTION_COUNT: CEnum.ibv_flow_spec_type.IBV_FLOW_SPEC_ACTION_COUNT;
} = members("ibv_flow_spec_type", "IBV_FLOW_SPEC_");
/**
 * A value of `FlowSpecType`.
 *
 * @category Flow steering
 */
export type FlowSpecType = typeof FlowSpecType[keyof typeof FlowSpecType];

/**
 * The fields of each header that a condition of flow steering compares. Fields that are left out are 0.
 *
 * @category Flow steering
 */
export interface FlowFilters {
  /** Fields of an Ethernet header (`struct ibv_flow_eth_filter`). */
  readonly ETH: {
    /** Destination MAC address, such as `"02:00:00:00:00:01"`. */
    readonly dstMac?: string | undefined;
    /** Source MAC address. */
    readonly srcMac?: string | undefined;
    /** EtherType, such as 0x0800 for IPv4, in host order. */
    readonly etherType?: number | undefined;
    /** VLAN tag in host order: 3 bits of priority, 1 bit CFI, 12 bits of VLAN identifier. */
    readonly vlanTag?: number | undefined;
  };
  /** Fields of an IPv4 header (`struct ibv_flow_ipv4_filter`). */
  readonly IPV4: {
    /** Source address, such as `"10.0.0.1"`. */
    readonly srcIp?: string | undefined;
    /** Destination address. */
    readonly dstIp?: string | undefined;
  };
  /** More fields of an IPv4 header (`struct ibv_flow_ipv4_ext_filter`). */
  readonly IPV4_EXT: {
    /** Source address, such as `"10.0.0.1"`. */
    readonly srcIp?: string | undefined;
    /** Destination address. */
    readonly dstIp?: string | undefined;
    /** Protocol, such as 17 for UDP. */
    readonly proto?: number | undefined;
    /** Type of service. */
    readonly tos?: number | undefined;
    /** Time to live. */
    readonly ttl?: number | undefined;
    /** Flags of fragments: 2 means do not fragment, 4 means more fragments. */
    readonly flags?: number | undefined;
  };
  /** Fields of an IPv6 header (`struct ibv_flow_ipv6_filter`). */
  readonly IPV6: {
    /** Source address, such as `"fe80::1"`. */
    readonly srcIp?: string | undefined;
    /** Destination address. */
    readonly dstIp?: string | undefined;
    /** Flow label, 20 bits, in host order. */
    readonly flowLabel?: number | undefined;
    /** Protocol of the next header. */
    readonly nextHdr?: number | undefined;
    /** Traffic class. */
    readonly trafficClass?: number | undefined;
    /** Hop limit. */
    readonly hopLimit?: number | undefined;
  };
  /** Fields of an IPsec ESP header (`struct ibv_flow_esp_filter`). */
  readonly ESP: {
    /** Security parameter index, in host order. */
    readonly spi?: number | undefined;
    /** Sequence number, in host order. */
    readonly seq?: number | undefined;
  };
  /** Ports of a TCP header (`struct ibv_flow_tcp_udp_filter`). */
  readonly TCP: {
    /** Destination port, in host order. */
    readonly dstPort?: number | undefined;
    /** Source port, in host order. */
    readonly srcPort?: number | undefined;
  };
  /** Ports of a UDP header. */
  readonly UDP: FlowFilters["TCP"];
  /** Fields of a GRE header (`struct ibv_flow_gre_filter`). */
  readonly GRE: {
    /** The first 16 bits of the header in host order: flags of checksum, key and sequence number, and the version. */
    readonly cKsRes0Ver?: number | undefined;
    /** EtherType of the payload, in host order. */
    readonly protocol?: number | undefined;
    /** Key, in host order. */
    readonly key?: number | undefined;
  };
  /** The label of an MPLS header (`struct ibv_flow_mpls_filter`). */
  readonly MPLS: {
    /** The whole label entry in host order: 20 bits of label, 3 of traffic class, 1 bottom of stack, 8 of TTL. */
    readonly label?: number | undefined;
  };
  /** The identifier of a tunnel (`struct ibv_flow_tunnel_filter`). */
  readonly VXLAN_TUNNEL: {
    /** VXLAN network identifier, in host order. */
    readonly tunnelId?: number | undefined;
  };
}

const BIG_ENDIAN = { bigEndian: true } as const;
const MAC = { from: parseMac, to: formatMac };
const IPV4 = { from: addressOf(4), to: formatAddress };
const IPV6 = { from: addressOf(16), to: formatAddress };

const ports = (): AttributeCodec<FlowFilters["TCP"]> =>
  codecOf("ibv_flow_tcp_udp_filter", "port filter", { dstPort: BIG_ENDIAN, srcPort: BIG_ENDIAN });

type Codecs = { readonly [Header in keyof FlowFilters]: AttributeCodec<FlowFilters[Header]> };

const codecs = (): Codecs => ({
  ETH: codecOf("ibv_flow_eth_filter", "Ethernet filter", {
    dstMac: MAC,
    srcMac: MAC,
    etherType: BIG_ENDIAN,
    vlanTag: BIG_ENDIAN,
  }),
  IPV4: codecOf("ibv_flow_ipv4_filter", "IPv4 filter", { srcIp: IPV4, dstIp: IPV4 }),
  IPV4_EXT: codecOf("ibv_flow_ipv4_ext_filter", "IPv4 filter", {
    srcIp: IPV4,
    dstIp: IPV4,
    proto: {},
    tos: {},
    ttl: {},
    flags: {},
  }),
  IPV6: codecOf("ibv_flow_ipv6_filter", "IPv6 filter", {
    srcIp: IPV6,
    dstIp: IPV6,
    flowLabel: { bits: 20, bigEndian: true },
    nextHdr: {},
    trafficClass: {},
    hopLimit: {},
  }),
  ESP: codecOf("ibv_flow_esp_filter", "ESP filter", { spi: BIG_ENDIAN, seq: BIG_ENDIAN }),
  TCP: ports(),
  UDP: ports(),
  VXLAN_TUNNEL: codecOf("ibv_flow_tunnel_filter", "tunnel filter", { tunnelId: BIG_ENDIAN }),
  GRE: codecOf("ibv_flow_gre_filter", "GRE filter", {
    cKsRes0Ver: BIG_ENDIAN,
    protocol: BIG_ENDIAN,
    key: BIG_ENDIAN,
  }),
  MPLS: codecOf("ibv_flow_mpls_filter", "MPLS filter", { label: BIG_ENDIAN }),
});

/** The structs of conditions. */
type Layout = {
  [L in keyof Structs]: Structs[L]["fields"] extends { readonly val: unknown } ? L : never;
}[keyof Structs];

/** By the type of a condition, its struct and the codec of its fields. */
export type Filters = ReadonlyMap<
  number,
  readonly [layout: Layout, fields: AttributeCodec<object>]
>;

/** The struct and the codec of each condition. They are made on first use, because few programs have flows. */
export const filters: () => Filters = once(() =>
  new Map(
    Object.entries(codecs()).map(([header, codec]) => {
      const layout = codec.layout.replace(/flow_(\w+)_filter$/, "flow_spec_$1") as Layout;
      return [FlowSpecType[header as keyof FlowFilters], [layout, codec]] as const;
    }),
  )
);

function parseMac(value: unknown, what: string): Uint8Array {
  if (typeof value !== "string" || !/^[0-9a-f]{1,2}(:[0-9a-f]{1,2}){5}$/i.test(value)) {
    throw new TypeError(`Cannot use ${what} ${show(value)}: it is not a MAC address`);
  }
  return Uint8Array.from(value.split(":"), (byte) => parseInt(byte, 16));
}

function formatMac(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(":");
}

function addressOf(length: 4 | 16): (value: unknown, what: string) => Uint8Array {
  return (value, what) => {
    const bytes = parseAddress(value as string);
    if (bytes.length === length) return bytes;
    const family = length === 4 ? "IPv4" : "IPv6";
    throw new TypeError(`Cannot use ${what} ${show(value)}: it is not an ${family} address`);
  };
}

import type { CEnum } from "../../ffi/layout.ts";
import { members } from "../../ffi/members.ts";

/**
 * Kind of a connection event (`enum rdma_cm_event_type`).
 *
 * @category Events
 */
export const CmEventType: {
  /** `CmId.resolveAddr` has found the device. */
  readonly ADDR_RESOLVED: CEnum.rdma_cm_event_type.RDMA_CM_EVENT_ADDR_RESOLVED;
  /** `CmId.resolveAddr` has failed. */
  readonly ADDR_ERROR: CEnum.rdma_cm_event_type.RDMA_CM_EVENT_ADDR_ERROR;
  /** `CmId.resolveRoute` has found the route. */
  readonly ROUTE_RESOLVED: CEnum.rdma_cm_event_type.RDMA_CM_EVENT_ROUTE_RESOLVED;
  /** `CmId.resolveRoute` has failed. */
  readonly ROUTE_ERROR: CEnum.rdma_cm_event_type.RDMA_CM_EVENT_ROUTE_ERROR;
  /** A peer wants to connect to an id that listens. */
  readonly CONNECT_REQUEST: CEnum.rdma_cm_event_type.RDMA_CM_EVENT_CONNECT_REQUEST;
  /** The peer has accepted; `CmId.establish` is next. */
  readonly CONNECT_RESPONSE: CEnum.rdma_cm_event_type.RDMA_CM_EVENT_CONNECT_RESPONSE;
  /** The connection has failed. */
  readonly CONNECT_ERROR: CEnum.rdma_cm_event_type.RDMA_CM_EVENT_CONNECT_ERROR;
  /**
   * The peer does not answer. If the id is connected: the neighbour that leads to the peer has another hardware
   * address.
   */
  readonly UNREACHABLE: CEnum.rdma_cm_event_type.RDMA_CM_EVENT_UNREACHABLE;
  /** The peer has rejected the connection. */
  readonly REJECTED: CEnum.rdma_cm_event_type.RDMA_CM_EVENT_REJECTED;
  /** The connection can be used. */
  readonly ESTABLISHED: CEnum.rdma_cm_event_type.RDMA_CM_EVENT_ESTABLISHED;
  /** The connection has ended. */
  readonly DISCONNECTED: CEnum.rdma_cm_event_type.RDMA_CM_EVENT_DISCONNECTED;
  /** The device is going away; the id can only be closed. */
  readonly DEVICE_REMOVAL: CEnum.rdma_cm_event_type.RDMA_CM_EVENT_DEVICE_REMOVAL;
  /** The id has joined the multicast group. */
  readonly MULTICAST_JOIN: CEnum.rdma_cm_event_type.RDMA_CM_EVENT_MULTICAST_JOIN;
  /** The id could not join the multicast group. */
  readonly MULTICAST_ERROR: CEnum.rdma_cm_event_type.RDMA_CM_EVENT_MULTICAST_ERROR;
  /** The network interface of the id has another hardware address. */
  readonly ADDR_CHANGE: CEnum.rdma_cm_event_type.RDMA_CM_EVENT_ADDR_CHANGE;
  /** No packet of the connection is in the network any more. */
  readonly TIMEWAIT_EXIT: CEnum.rdma_cm_event_type.RDMA_CM_EVENT_TIMEWAIT_EXIT;
  /** `CmId.resolveAddrInfo` has found addresses. */
  readonly ADDRINFO_RESOLVED: CEnum.rdma_cm_event_type.RDMA_CM_EVENT_ADDRINFO_RESOLVED;
  /** `CmId.resolveAddrInfo` has failed. */
  readonly ADDRINFO_ERROR: CEnum.rdma_cm_event_type.RDMA_CM_EVENT_ADDRINFO_ERROR;
  /** A program has made the event, by `CmId.writeCmEvent`. */
  readonly USER: CEnum.rdma_cm_event_type.RDMA_CM_EVENT_USER;
  /** An event of librdmacm itself, which programs do not get. */
  readonly INTERNAL: CEnum.rdma_cm_event_type.RDMA_CM_EVENT_INTERNAL;
} = members("rdma_cm_event_type", "RDMA_CM_EVENT_");
/**
 * A value of `CmEventType`.
 *
 * @category Events
 */
export type CmEventType = typeof CmEventType[keyof typeof CmEventType];

/**
 * Port space of an id, which decides its transport (`enum rdma_port_space`).
 *
 * @category Connections
 */
export const PortSpace: {
  /** Datagrams in the multicast groups of IP over InfiniBand. */
  readonly IPOIB: CEnum.rdma_port_space.RDMA_PS_IPOIB;
  /** Reliable connections (RC), with port numbers as TCP has. */
  readonly TCP: CEnum.rdma_port_space.RDMA_PS_TCP;
  /** Unreliable datagrams (UD), with port numbers as UDP has. */
  readonly UDP: CEnum.rdma_port_space.RDMA_PS_UDP;
  /** The service IDs of InfiniBand. */
  readonly IB: CEnum.rdma_port_space.RDMA_PS_IB;
} = members("rdma_port_space", "RDMA_PS_");
/**
 * A value of `PortSpace`.
 *
 * @category Connections
 */
export type PortSpace = typeof PortSpace[keyof typeof PortSpace];

/**
 * The state of a `CmId`. Each method says which states it needs.
 *
 * - `IDLE`: new
 * - `BOUND`: has an address of its own
 * - `RESOLVING_ADDR`, `ADDR_RESOLVED`: looks for the device that leads to the peer, has found it
 * - `RESOLVING_ROUTE`, `ROUTE_RESOLVED`: looks for the route, has found it
 * - `CONNECTING`, `RESPONDED`: waits for the peer's answer, has it
 * - `LISTENING`: gets requests of peers
 * - `REQUESTED`, `ACCEPTING`: made by the request of a peer, waits until the peer has the answer
 * - `ESTABLISHED`: connected
 * - `DISCONNECTING`, `DISCONNECTED`: waits for the peer's answer to the end, has ended
 * - `FAILED`: the connection was refused or has failed; the id can only be closed
 * - `REMOVED`: the device has gone; the id can only be closed
 *
 * @category Connections
 */
export type CmState =
  | "IDLE"
  | "BOUND"
  | "RESOLVING_ADDR"
  | "ADDR_RESOLVED"
  | "RESOLVING_ROUTE"
  | "ROUTE_RESOLVED"
  | "CONNECTING"
  | "RESPONDED"
  | "LISTENING"
  | "REQUESTED"
  | "ACCEPTING"
  | "ESTABLISHED"
  | "DISCONNECTING"
  | "DISCONNECTED"
  | "FAILED"
  | "REMOVED";

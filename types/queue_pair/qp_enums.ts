import { type Members, members } from "../../ffi/members.ts";

/**
 * Transport service of a queue pair (`enum ibv_qp_type`).
 *
 * - `RC`: reliable connection: messages of any size, in order and acknowledged, RDMA and atomics
 * - `UC`: unreliable connection: messages of any size and RDMA writes, without acknowledgements
 * - `UD`: unreliable datagram: messages of one packet, to any peer
 * - `RAW_PACKET`: Ethernet frames; needs the capability CAP_NET_RAW
 * - `XRC_SEND`, `XRC_RECV`: the sending and the receiving side of an extended reliable connection
 * - `DRIVER`: a transport of the provider's own
 *
 * @category Queue pairs
 */
export const QpType: Members<"ibv_qp_type", "IBV_QPT_"> = members("ibv_qp_type", "IBV_QPT_");
/**
 * A value of {@linkcode QpType}.
 *
 * @category Queue pairs
 */
export type QpType = typeof QpType[keyof typeof QpType];

/**
 * State of a queue pair (`enum ibv_qp_state`).
 *
 * - `RESET`: the first state
 * - `INIT`: receives may be posted
 * - `RTR`: ready to receive
 * - `RTS`: ready to send
 * - `SQD`: the send queue is drained
 * - `SQE`: the send queue is in error
 * - `ERR`: error; requests complete with WR_FLUSH_ERR
 * - `UNKNOWN`: the state is not known
 *
 * @category Queue pairs
 */
export const QpState: Members<"ibv_qp_state", "IBV_QPS_"> = members("ibv_qp_state", "IBV_QPS_");
/**
 * A value of {@linkcode QpState}.
 *
 * @category Queue pairs
 */
export type QpState = typeof QpState[keyof typeof QpState];

/**
 * Selects attributes of a queue pair (`enum ibv_qp_attr_mask`). Combine the values with `|`. They have the names of the
 * attributes; `AV` is `ahAttr`, and `ALT_PATH` is every `alt` attribute.
 *
 * @category Queue pairs
 */
export const QpAttrMask: Members<"ibv_qp_attr_mask", "IBV_QP_"> = members(
  "ibv_qp_attr_mask",
  "IBV_QP_",
);

/**
 * State of path migration (`enum ibv_mig_state`).
 *
 * - `MIGRATED`: the queue pair uses the path that it is given, and does not migrate
 * - `REARM`: a new alternative path is being set up
 * - `ARMED`: the queue pair is ready to migrate to its alternative path
 *
 * @category Queue pairs
 */
export const MigState: Members<"ibv_mig_state", "IBV_MIG_"> = members("ibv_mig_state", "IBV_MIG_");
/**
 * A value of {@linkcode MigState}.
 *
 * @category Queue pairs
 */
export type MigState = typeof MigState[keyof typeof MigState];

/**
 * Flags of a new queue pair (`enum ibv_qp_create_flags`). Combine them with `|`.
 *
 * - `BLOCK_SELF_MCAST_LB`: the queue pair does not receive its own multicast packets
 * - `SCATTER_FCS`: the frame check sequence is written after the packet
 * - `CVLAN_STRIPPING`: the customer VLAN tag is removed from packets
 * - `SOURCE_QPN`: the queue pair sends with the number `sourceQpn`; set if that is given
 * - `PCI_WRITE_END_PADDING`: writes are padded to whole cache lines
 *
 * @category Queue pairs
 */
export const QpCreateFlags: Members<"ibv_qp_create_flags", "IBV_QP_CREATE_"> = members(
  "ibv_qp_create_flags",
  "IBV_QP_CREATE_",
);

/**
 * The operations that the `ibv_wr_*` verbs do on a queue pair (`enum ibv_qp_create_send_ops_flags`). Combine them with
 * `|`.
 *
 * @category Queue pairs
 */
export const SendOpsFlags: Members<"ibv_qp_create_send_ops_flags", "IBV_QP_EX_WITH_"> = members(
  "ibv_qp_create_send_ops_flags",
  "IBV_QP_EX_WITH_",
);

/**
 * Where a flush puts data (`enum ibv_placement_type`). Combine the values with `|`.
 *
 * - `GLOBAL`: where all of the peer's system sees it
 * - `PERSISTENT`: in persistent memory, where it survives a loss of power
 *
 * @category Queue pairs
 */
export const PlacementType: Members<"ibv_placement_type", "IBV_FLUSH_"> = members(
  "ibv_placement_type",
  "IBV_FLUSH_",
);

/**
 * What a flush is about (`enum ibv_selectivity_level`).
 *
 * - `RANGE`: the bytes that it names
 * - `MR`: the whole memory region
 *
 * @category Queue pairs
 */
export const SelectivityLevel: Members<"ibv_selectivity_level", "IBV_FLUSH_"> = members(
  "ibv_selectivity_level",
  "IBV_FLUSH_",
);
/**
 * A value of {@linkcode SelectivityLevel}.
 *
 * @category Queue pairs
 */
export type SelectivityLevel = typeof SelectivityLevel[keyof typeof SelectivityLevel];

/**
 * Flags of {@linkcode QueuePairStates.queryDataInOrder} (`enum ibv_query_qp_data_in_order_flags`). Combine them with `|`.
 *
 * - `RETURN_CAPS`: the result is {@linkcode DataInOrderCaps}
 * - `DEVICE_ONLY`: only what the device does counts, not the whole path to the memory
 *
 * @category Queue pairs
 */
export const DataInOrderFlags: Members<
  "ibv_query_qp_data_in_order_flags",
  "IBV_QUERY_QP_DATA_IN_ORDER_"
> = members("ibv_query_qp_data_in_order_flags", "IBV_QUERY_QP_DATA_IN_ORDER_");

/**
 * What is in order (`enum ibv_query_qp_data_in_order_caps`), combined with `|`.
 *
 * - `WHOLE_MSG`: all bytes of a message
 * - `ALIGNED_128_BYTES`: the bytes of each block of 128 bytes that starts at a multiple of 128
 *
 * @category Queue pairs
 */
export const DataInOrderCaps: Members<
  "ibv_query_qp_data_in_order_caps",
  "IBV_QUERY_QP_DATA_IN_ORDER_"
> = members("ibv_query_qp_data_in_order_caps", "IBV_QUERY_QP_DATA_IN_ORDER_");

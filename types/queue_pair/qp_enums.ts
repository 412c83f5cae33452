import type { CEnum } from "../../ffi/layout.ts";
import { members } from "../../ffi/members.ts";

/**
 * Transport service of a queue pair (`enum ibv_qp_type`).
 *
 * @category Queue pairs
 */
export const QpType: {
  /** Reliable connection: messages of any size, in order and acknowledged, RDMA and atomics. */
  readonly RC: CEnum.ibv_qp_type.IBV_QPT_RC;
  /** Unreliable connection: messages of any size and RDMA writes, without acknowledgements. */
  readonly UC: CEnum.ibv_qp_type.IBV_QPT_UC;
  /** Unreliable datagram: messages of one packet, to any peer. */
  readonly UD: CEnum.ibv_qp_type.IBV_QPT_UD;
  /** Ethernet frames; needs the capability CAP_NET_RAW. */
  readonly RAW_PACKET: CEnum.ibv_qp_type.IBV_QPT_RAW_PACKET;
  /** The sending side of an extended reliable connection. */
  readonly XRC_SEND: CEnum.ibv_qp_type.IBV_QPT_XRC_SEND;
  /** The receiving side of an extended reliable connection. */
  readonly XRC_RECV: CEnum.ibv_qp_type.IBV_QPT_XRC_RECV;
  /** A transport of the provider's own. */
  readonly DRIVER: CEnum.ibv_qp_type.IBV_QPT_DRIVER;
} = members("ibv_qp_type", "IBV_QPT_");
/**
 * A value of `QpType`.
 *
 * @category Queue pairs
 */
export type QpType = typeof QpType[keyof typeof QpType];

/**
 * State of a queue pair (`enum ibv_qp_state`).
 *
 * @category Queue pairs
 */
export const QpState: {
  /** The first state. */
  readonly RESET: CEnum.ibv_qp_state.IBV_QPS_RESET;
  /** Receives may be posted. */
  readonly INIT: CEnum.ibv_qp_state.IBV_QPS_INIT;
  /** Ready to receive. */
  readonly RTR: CEnum.ibv_qp_state.IBV_QPS_RTR;
  /** Ready to send. */
  readonly RTS: CEnum.ibv_qp_state.IBV_QPS_RTS;
  /** The send queue drains: sends in progress are completed, and no further one starts. */
  readonly SQD: CEnum.ibv_qp_state.IBV_QPS_SQD;
  /** The send queue is in error. */
  readonly SQE: CEnum.ibv_qp_state.IBV_QPS_SQE;
  /** Error; requests complete with WR_FLUSH_ERR. */
  readonly ERR: CEnum.ibv_qp_state.IBV_QPS_ERR;
  /** The state is not known. */
  readonly UNKNOWN: CEnum.ibv_qp_state.IBV_QPS_UNKNOWN;
} = members("ibv_qp_state", "IBV_QPS_");
/**
 * A value of `QpState`.
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
export const QpAttrMask: {
  /** The attribute `qpState`. */
  readonly STATE: CEnum.ibv_qp_attr_mask.IBV_QP_STATE;
  /** The attribute `curQpState`. */
  readonly CUR_STATE: CEnum.ibv_qp_attr_mask.IBV_QP_CUR_STATE;
  /** The attribute `enSqdAsyncNotify`. */
  readonly EN_SQD_ASYNC_NOTIFY: CEnum.ibv_qp_attr_mask.IBV_QP_EN_SQD_ASYNC_NOTIFY;
  /** The attribute `qpAccessFlags`. */
  readonly ACCESS_FLAGS: CEnum.ibv_qp_attr_mask.IBV_QP_ACCESS_FLAGS;
  /** The attribute `pkeyIndex`. */
  readonly PKEY_INDEX: CEnum.ibv_qp_attr_mask.IBV_QP_PKEY_INDEX;
  /** The attribute `portNum`. */
  readonly PORT: CEnum.ibv_qp_attr_mask.IBV_QP_PORT;
  /** The attribute `qkey`. */
  readonly QKEY: CEnum.ibv_qp_attr_mask.IBV_QP_QKEY;
  /** The attribute `ahAttr`. */
  readonly AV: CEnum.ibv_qp_attr_mask.IBV_QP_AV;
  /** The attribute `pathMtu`. */
  readonly PATH_MTU: CEnum.ibv_qp_attr_mask.IBV_QP_PATH_MTU;
  /** The attribute `timeout`. */
  readonly TIMEOUT: CEnum.ibv_qp_attr_mask.IBV_QP_TIMEOUT;
  /** The attribute `retryCnt`. */
  readonly RETRY_CNT: CEnum.ibv_qp_attr_mask.IBV_QP_RETRY_CNT;
  /** The attribute `rnrRetry`. */
  readonly RNR_RETRY: CEnum.ibv_qp_attr_mask.IBV_QP_RNR_RETRY;
  /** The attribute `rqPsn`. */
  readonly RQ_PSN: CEnum.ibv_qp_attr_mask.IBV_QP_RQ_PSN;
  /** The attribute `maxRdAtomic`. */
  readonly MAX_QP_RD_ATOMIC: CEnum.ibv_qp_attr_mask.IBV_QP_MAX_QP_RD_ATOMIC;
  /** The attributes `altAhAttr`, `altPkeyIndex`, `altPortNum` and `altTimeout`. */
  readonly ALT_PATH: CEnum.ibv_qp_attr_mask.IBV_QP_ALT_PATH;
  /** The attribute `minRnrTimer`. */
  readonly MIN_RNR_TIMER: CEnum.ibv_qp_attr_mask.IBV_QP_MIN_RNR_TIMER;
  /** The attribute `sqPsn`. */
  readonly SQ_PSN: CEnum.ibv_qp_attr_mask.IBV_QP_SQ_PSN;
  /** The attribute `maxDestRdAtomic`. */
  readonly MAX_DEST_RD_ATOMIC: CEnum.ibv_qp_attr_mask.IBV_QP_MAX_DEST_RD_ATOMIC;
  /** The attribute `pathMigState`. */
  readonly PATH_MIG_STATE: CEnum.ibv_qp_attr_mask.IBV_QP_PATH_MIG_STATE;
  /** The attribute `cap`. */
  readonly CAP: CEnum.ibv_qp_attr_mask.IBV_QP_CAP;
  /** The attribute `destQpNum`. */
  readonly DEST_QPN: CEnum.ibv_qp_attr_mask.IBV_QP_DEST_QPN;
  /** The attribute `rateLimit`. */
  readonly RATE_LIMIT: CEnum.ibv_qp_attr_mask.IBV_QP_RATE_LIMIT;
} = members("ibv_qp_attr_mask", "IBV_QP_");

/**
 * State of path migration (`enum ibv_mig_state`).
 *
 * @category Queue pairs
 */
export const MigState: {
  /** The queue pair uses the path that it was given, and does not migrate. */
  readonly MIGRATED: CEnum.ibv_mig_state.IBV_MIG_MIGRATED;
  /** A new alternative path is being set up. */
  readonly REARM: CEnum.ibv_mig_state.IBV_MIG_REARM;
  /** The queue pair is ready to migrate to its alternative path. */
  readonly ARMED: CEnum.ibv_mig_state.IBV_MIG_ARMED;
} = members("ibv_mig_state", "IBV_MIG_");
/**
 * A value of `MigState`.
 *
 * @category Queue pairs
 */
export type MigState = typeof MigState[keyof typeof MigState];

/**
 * Flags of a new queue pair (`enum ibv_qp_create_flags`). Combine them with `|`.
 *
 * @category Queue pairs
 */
export const QpCreateFlags: {
  /** The queue pair does not receive its own multicast packets. */
  readonly BLOCK_SELF_MCAST_LB: CEnum.ibv_qp_create_flags.IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
  /** The frame check sequence is written after the packet. */
  readonly SCATTER_FCS: CEnum.ibv_qp_create_flags.IBV_QP_CREATE_SCATTER_FCS;
  /** The customer VLAN tag is removed from packets. */
  readonly CVLAN_STRIPPING: CEnum.ibv_qp_create_flags.IBV_QP_CREATE_CVLAN_STRIPPING;
  /** The queue pair sends with the number `sourceQpn`; set if that is given. */
  readonly SOURCE_QPN: CEnum.ibv_qp_create_flags.IBV_QP_CREATE_SOURCE_QPN;
  /** Writes are padded to whole cache lines. */
  readonly PCI_WRITE_END_PADDING: CEnum.ibv_qp_create_flags.IBV_QP_CREATE_PCI_WRITE_END_PADDING;
} = members("ibv_qp_create_flags", "IBV_QP_CREATE_");

/**
 * The operations that the `ibv_wr_*` verbs do on a queue pair (`enum ibv_qp_create_send_ops_flags`). Combine them with
 * `|`.
 *
 * @category Queue pairs
 */
export const SendOpsFlags: {
  /** `WrBuilder.rdmaWrite`. */
  readonly RDMA_WRITE: CEnum.ibv_qp_create_send_ops_flags.IBV_QP_EX_WITH_RDMA_WRITE;
  /** `WrBuilder.rdmaWriteImm`. */
  readonly RDMA_WRITE_WITH_IMM:
    CEnum.ibv_qp_create_send_ops_flags.IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
  /** `WrBuilder.send`. */
  readonly SEND: CEnum.ibv_qp_create_send_ops_flags.IBV_QP_EX_WITH_SEND;
  /** `WrBuilder.sendImm`. */
  readonly SEND_WITH_IMM: CEnum.ibv_qp_create_send_ops_flags.IBV_QP_EX_WITH_SEND_WITH_IMM;
  /** `WrBuilder.rdmaRead`. */
  readonly RDMA_READ: CEnum.ibv_qp_create_send_ops_flags.IBV_QP_EX_WITH_RDMA_READ;
  /** `WrBuilder.atomicCmpSwp`. */
  readonly ATOMIC_CMP_AND_SWP: CEnum.ibv_qp_create_send_ops_flags.IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP;
  /** `WrBuilder.atomicFetchAdd`. */
  readonly ATOMIC_FETCH_AND_ADD:
    CEnum.ibv_qp_create_send_ops_flags.IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
  /** `WrBuilder.localInv`. */
  readonly LOCAL_INV: CEnum.ibv_qp_create_send_ops_flags.IBV_QP_EX_WITH_LOCAL_INV;
  /** `WrBuilder.bindMw`. */
  readonly BIND_MW: CEnum.ibv_qp_create_send_ops_flags.IBV_QP_EX_WITH_BIND_MW;
  /** `WrBuilder.sendInv`. */
  readonly SEND_WITH_INV: CEnum.ibv_qp_create_send_ops_flags.IBV_QP_EX_WITH_SEND_WITH_INV;
  /** `WrBuilder.sendTso`. */
  readonly TSO: CEnum.ibv_qp_create_send_ops_flags.IBV_QP_EX_WITH_TSO;
  /** `WrBuilder.flush`. */
  readonly FLUSH: CEnum.ibv_qp_create_send_ops_flags.IBV_QP_EX_WITH_FLUSH;
  /** `WrBuilder.atomicWrite`. */
  readonly ATOMIC_WRITE: CEnum.ibv_qp_create_send_ops_flags.IBV_QP_EX_WITH_ATOMIC_WRITE;
} = members("ibv_qp_create_send_ops_flags", "IBV_QP_EX_WITH_");

/**
 * Where a flush puts data (`enum ibv_placement_type`). Combine the values with `|`.
 *
 * @category Queue pairs
 */
export const PlacementType: {
  /** Where the whole system of the peer sees it. */
  readonly GLOBAL: CEnum.ibv_placement_type.IBV_FLUSH_GLOBAL;
  /** In persistent memory, where it survives a loss of power. */
  readonly PERSISTENT: CEnum.ibv_placement_type.IBV_FLUSH_PERSISTENT;
} = members("ibv_placement_type", "IBV_FLUSH_");

/**
 * What a flush applies to (`enum ibv_selectivity_level`).
 *
 * @category Queue pairs
 */
export const SelectivityLevel: {
  /** The bytes that it names. */
  readonly RANGE: CEnum.ibv_selectivity_level.IBV_FLUSH_RANGE;
  /** The whole memory region. */
  readonly MR: CEnum.ibv_selectivity_level.IBV_FLUSH_MR;
} = members("ibv_selectivity_level", "IBV_FLUSH_");
/**
 * A value of `SelectivityLevel`.
 *
 * @category Queue pairs
 */
export type SelectivityLevel = typeof SelectivityLevel[keyof typeof SelectivityLevel];

/**
 * Flags of `QueuePair.queryDataInOrder` (`enum ibv_query_qp_data_in_order_flags`). Combine them with `|`.
 *
 * @category Queue pairs
 */
export const DataInOrderFlags: {
  /** The result is `DataInOrderCaps`. */
  readonly RETURN_CAPS:
    CEnum.ibv_query_qp_data_in_order_flags.IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS;
  /** The answer is about the device only, not about the whole path to the memory. */
  readonly DEVICE_ONLY:
    CEnum.ibv_query_qp_data_in_order_flags.IBV_QUERY_QP_DATA_IN_ORDER_DEVICE_ONLY;
} = members("ibv_query_qp_data_in_order_flags", "IBV_QUERY_QP_DATA_IN_ORDER_");

/**
 * What is in order (`enum ibv_query_qp_data_in_order_caps`), combined with `|`.
 *
 * @category Queue pairs
 */
export const DataInOrderCaps: {
  /** All bytes of a message. */
  readonly WHOLE_MSG: CEnum.ibv_query_qp_data_in_order_caps.IBV_QUERY_QP_DATA_IN_ORDER_WHOLE_MSG;
  /** The bytes of each block of 128 bytes that starts at a multiple of 128. */
  readonly ALIGNED_128_BYTES:
    CEnum.ibv_query_qp_data_in_order_caps.IBV_QUERY_QP_DATA_IN_ORDER_ALIGNED_128_BYTES;
} = members("ibv_query_qp_data_in_order_caps", "IBV_QUERY_QP_DATA_IN_ORDER_");

import { constants, structs } from "../../ffi/layout.ts";
import { handleAt, nativeView } from "../../ffi/pointers.ts";
import { readField } from "../../ffi/struct.ts";
import { copyOfBytes, snapshot, uint24 } from "../../internal/checks.ts";
import type { Optional } from "../../internal/optional.ts";
import { type AhAttr, ahAttrCodec } from "../address/ah_attr.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import { instance } from "../core/checks.ts";
import { QueuePair } from "../queue_pair/queue_pair.ts";

/**
 * The connection parameters from a peer, seen from this side (`struct rdma_conn_param`).
 *
 * @category Connections
 */
export interface ConnParam {
  /**
   * Data of the peer's program. InfiniBand and RoCE pad it with zeros to the length of the field: 56 bytes in a
   * request, 196 in a reply, 148 in a rejection. Where the length matters, the program has to send it in the data.
   */
  readonly privateData: Uint8Array<ArrayBuffer>;
  /** RDMA reads and atomics of the peer that this side serves at the same time, 0 to 255. */
  readonly responderResources: number;
  /** The most RDMA reads and atomics that this side has outstanding, 0 to 255. */
  readonly initiatorDepth: number;
  /** Whether the hardware controls the flow. */
  readonly flowControl: boolean;
  /** Retries after a packet was not acknowledged, 0 to 7. */
  readonly retryCount: number;
  /** Retries after the peer had no receive, 0 to 7; 7 is infinite. */
  readonly rnrRetryCount: number;
  /** Whether the queue pair uses a shared receive queue. */
  readonly srq: boolean;
  /** Number of the peer's queue pair. */
  readonly qpNum: number;
}

/**
 * The connection parameters that a program gives to `CmId.connect` and `CmId.accept`.
 *
 * - `responderResources`, `initiatorDepth`: the default 255 is as many as the device has, or as the peer asks for
 * - `retryCount`, `rnrRetryCount`: the default is 7
 * - `privateData`: the default is none. At most 56 bytes in a request, 196 in a reply; for datagrams 180 and 136; for iWARP
 *   251
 *
 * @category Connections
 */
export interface ConnParamInit extends Optional<Omit<ConnParam, "privateData" | "qpNum">> {
  /** Data for the peer's program. */
  readonly privateData?: Uint8Array | undefined;
}

/**
 * How datagrams reach a peer (`struct rdma_ud_param`), as the events of an id for datagrams report it.
 *
 * @category Connections
 */
export interface UdParam {
  /** Data of the peer's program, padded with zeros: 180 bytes in a request, 136 in a reply. For a group it is empty. */
  readonly privateData: Uint8Array<ArrayBuffer>;
  /** The address: `new AddressHandle(pd, ahAttr)` takes it as it is. In a request it is all 0. */
  readonly ahAttr: AhAttr;
  /** Number of the peer's queue pair; 0xffffff for a group. */
  readonly qpNum: number;
  /** The qkey that datagrams to the peer must carry. */
  readonly qkey: number;
}

interface Own {
  readonly privateDataLen: number;
  readonly qpNum: number;
}

const own = true;
const MOST = constants.RDMA_MAX_RESP_RES;

const connParamCodec: AttributeCodec<ConnParamInit, Omit<ConnParam, "privateData">, Own> = codecOf(
  "rdma_conn_param",
  "connection parameters",
  {
    privateData: { pointer: true },
    privateDataLen: { own },
    responderResources: { fallback: MOST },
    initiatorDepth: { fallback: MOST },
    flowControl: { boolean: 1 },
    retryCount: { max: 7, fallback: 7 },
    rnrRetryCount: { max: 7, fallback: 7 },
    srq: { boolean: 1 },
    qpNum: { own },
  },
);

const udParamCodec: AttributeCodec<Omit<UdParam, "privateData" | "ahAttr">> = codecOf(
  "rdma_ud_param",
  "datagram parameters",
  { qpNum: {}, qkey: {} },
);

/** A copy of the private data that parameters of either kind point to: both begin alike. */
export function privateDataOf(view: DataView<ArrayBuffer>, base: number): Uint8Array<ArrayBuffer> {
  const { fields } = structs.rdma_conn_param;
  const pointer = handleAt(readField(view, fields.private_data, base));
  const length = readField(view, fields.private_data_len, base);
  if (pointer === null || length === 0) return new Uint8Array(0);
  return new Uint8Array(nativeView(pointer, length).buffer).slice();
}

/** Reads the parameters of an event, whose private data was copied. */
export function readConnParam(
  view: DataView<ArrayBuffer>,
  base: number,
  privateData: Uint8Array<ArrayBuffer>,
): ConnParam {
  const { privateDataLen: _, ...rest } = connParamCodec.read(view, base) as ConnParam & Own;
  return { ...rest, privateData };
}

/** Reads the parameters of an event of datagrams, whose private data was copied. */
export function readUdParam(
  view: DataView<ArrayBuffer>,
  base: number,
  privateData: Uint8Array<ArrayBuffer>,
): UdParam {
  return {
    ...udParamCodec.read(view, base),
    ahAttr: ahAttrCodec.read(view, base + structs.rdma_ud_param.fields.ah_attr.offset),
    privateData,
  };
}

/** The message that carries private data. */
export type CmMessage = "request" | "reply" | "rejection";

/** How a connection is made: by the messages of InfiniBand, for RC or for UD, or by those of iWARP. */
export type CmService = "RC" | "UD" | "iWARP";

/** The most bytes of private data, after what librdmacm and the kernel put there themselves. */
const LIMITS: Readonly<Record<CmService, Readonly<Record<CmMessage, number>>>> = {
  RC: { request: 56, reply: 196, rejection: 148 },
  UD: { request: 180, reply: 136, rejection: 136 },
  // The kernel has 8 bits for the length of these and of 4 bytes that belong to iWARP.
  iWARP: { request: 251, reply: 251, rejection: 251 },
};

/**
 * A copy of private data.
 *
 * @throws {RangeError} If it is longer than the message takes.
 */
export function checkPrivateData(
  value: Uint8Array | undefined,
  message: CmMessage,
  service: CmService,
): Uint8Array<ArrayBuffer> {
  const bytes = value === undefined ? new Uint8Array(0) : copyOfBytes(value, "privateData");
  const limit = LIMITS[service][message];
  if (bytes.length <= limit) return bytes;
  throw new RangeError(
    `Cannot use privateData of ${bytes.length} bytes: a ${message} of ${service} takes at most ${limit}`,
  );
}

/**
 * The C struct of the parameters of a connection.
 *
 * @param qp The queue pair, or its number.
 * @throws {RangeError} If the private data is longer than the message takes, or a number is out of range.
 */
export function connParamOf(
  qp: QueuePair | number,
  param: ConnParamInit,
  message: CmMessage,
  service: CmService,
): DataView<ArrayBuffer> {
  const qpNum = typeof qp === "number" ? uint24(qp, "qp") : instance(qp, QueuePair, "qp").qpNum;
  const given = snapshot(param, "connection parameters", connParamCodec.names as never);
  const privateData = checkPrivateData(given.privateData, message, service);
  const own = { privateDataLen: privateData.length, qpNum };
  return connParamCodec.write({ ...given, privateData }, own).view;
}

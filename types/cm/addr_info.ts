import { constants, structs } from "../../ffi/layout.ts";
import { cString, handleAt, nativeView, readCString } from "../../ffi/pointers.ts";
import { nonblockingRdmacm, rdmacm } from "../../ffi/rdmacm.ts";
import { readField } from "../../ffi/struct.ts";
import { checkSignal } from "../../wait/abort.ts";
import { quote, snapshot, text } from "../../internal/checks.ts";
import { inTurn } from "../../wait/turns.ts";
import { abortable } from "../core/abortable.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import { failure } from "../core/errors.ts";
import { QpType } from "../queue_pair/qp_enums.ts";
import { PortSpace } from "./enums.ts";
import { CmError, hintNoDevice } from "./errors.ts";
import { readSockaddr, type SocketAddress } from "./socket_address.ts";

/**
 * Flags of `getAddrInfo` and of `CmId.resolveAddrInfo` (`RAI_...`).
 *
 * @category Addresses
 */
export const AddrInfoFlags: {
  /** The address is for listening. */
  readonly PASSIVE: 1;
  /** The name must be an address. */
  readonly NUMERICHOST: 2;
  /** Looks up no route. */
  readonly NOROUTE: 4;
  /** Only addresses of the family in the hints. */
  readonly FAMILY: 8;
  /** Asks the subnet administration of InfiniBand for a service, not a name server. rdma-core 60 or newer. */
  readonly SA: 16;
  /** Asks a name server, as without SA. rdma-core 60 or newer. */
  readonly DNS: 32;
} = Object.freeze({
  PASSIVE: constants.RAI_PASSIVE,
  NUMERICHOST: constants.RAI_NUMERICHOST,
  NOROUTE: constants.RAI_NOROUTE,
  FAMILY: constants.RAI_FAMILY,
  SA: constants.RAI_SA,
  DNS: constants.RAI_DNS,
});

/**
 * Hints for a look-up. Attributes that are left out are 0, which matches anything.
 *
 * @category Addresses
 */
export interface AddrInfoHints {
  /** `AddrInfoFlags`, combined with `|`. */
  readonly flags?: number | undefined;
  /** The address family as the system numbers it, with the flag FAMILY: 2 is IPv4, 10 is IPv6. */
  readonly family?: number | undefined;
  /** The transport of the queue pair. */
  readonly qpType?: QpType | undefined;
  /** The port space. */
  readonly portSpace?: PortSpace | undefined;
  /** Ends the wait. The look-up itself cannot be stopped. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * One answer of `getAddrInfo` (`struct rdma_addrinfo`). It is a copy: nothing has to be freed.
 *
 * @category Addresses
 */
export interface AddrInfo {
  /** `AddrInfoFlags`, combined. */
  readonly flags: number;
  /** The address family as the system numbers it. */
  readonly family: number;
  /** The transport of the queue pair. */
  readonly qpType: QpType;
  /** The port space. */
  readonly portSpace: PortSpace;
  /** The address to bind to, with the flag PASSIVE; otherwise the one to send from, where it is known. */
  readonly srcAddr: SocketAddress | undefined;
  /** The address to connect to. */
  readonly dstAddr: SocketAddress | undefined;
  /** The full name of the program's own host, if the system gives it. */
  readonly srcCanonname: string | undefined;
  /** The full name of the peer's host, if the system gives it. */
  readonly dstCanonname: string | undefined;
}

/** `rdma_getaddrinfo` takes these types of queue pairs. */
const { RC, UC, UD, XRC_SEND, XRC_RECV } = QpType;

const codec: AttributeCodec<Omit<AddrInfoHints, "signal">, AddrInfo> = codecOf(
  "rdma_addrinfo",
  "hints",
  {
    flags: { field: "ai_flags" },
    family: { field: "ai_family" },
    qpType: { field: "ai_qp_type", values: { RC, UC, UD, XRC_SEND, XRC_RECV } },
    portSpace: { field: "ai_port_space", values: PortSpace },
  },
);

const { fields } = structs.rdma_addrinfo;

/** What `getaddrinfo(3)` returns. */
const FAILURES: Readonly<Record<number, string>> = {
  [-1]: "the flags are not valid, there is no RDMA device, or the kernel is older than Linux 6.17",
  [-2]: "the name or the service is not known",
  [-3]: "the name server does not answer now",
  [-4]: "the name server has failed",
  [-5]: "the name has no address",
  [-6]: "there are no addresses of this family",
  [-8]: "the service is not known for this port space",
  [-9]: "the name has only addresses of the other family",
};

/**
 * Looks up addresses by the name of a host and of a service (`rdma_getaddrinfo`), on another thread. The name may be an
 * IPv4 or IPv6 address, also one with a network interface (`fe80::1%eth0`).
 *
 * @example The address of a host
 * ```ts
 * import { getAddrInfo } from "@rdma/ibverbs/cm";
 *
 * const [info] = await getAddrInfo("localhost", "7471");
 * console.log(info?.dstAddr);
 * ```
 *
 * @param node The name of the host; with the flag PASSIVE, `undefined` stands for any address.
 * @param service The name of the service, or the port as text; `undefined` for port 0.
 * @param hints What to look for.
 * @throws {TypeError} If an argument has the wrong type.
 * @throws {CmError} If the name has no address. `status` is what `getaddrinfo(3)` returns.
 * @throws {VerbsError} If there is no RDMA device (ENODEV), or the system refuses.
 * @category Addresses
 */
export async function getAddrInfo(
  node: string | undefined,
  service?: string,
  hints: AddrInfoHints = {},
): Promise<AddrInfo[]> {
  return await inTurn(async () => {
    const { signal, host, port, view, action } = readLookUp(node, service, hints);
    const list = new BigUint64Array(1);
    return await abortable({
      signal,
      start: () => nonblockingRdmacm().rdma_getaddrinfo(host, port, view, list),
      finish: ({ value, errno }) => {
        if (value === 0) return answersAt(list);
        throw value === -1 && errno > 0
          ? failure("rdma_getaddrinfo", action, errno, { hint: hintNoDevice })
          : lookUpError(action, value);
      },
      discard: () => free(list),
    });
  });
}

/** The arguments of a look-up, as C takes them. */
export interface LookUp {
  readonly signal: AbortSignal | undefined;
  readonly host: Uint8Array<ArrayBuffer> | null;
  readonly port: Uint8Array<ArrayBuffer> | null;
  /** The hints. */
  readonly view: DataView<ArrayBuffer>;
  /** The action, for messages. */
  readonly action: string;
}

/** Reads and checks the arguments of a look-up. */
export function readLookUp(
  node: string | undefined,
  service: string | undefined,
  hints: AddrInfoHints,
): LookUp {
  const { signal, ...rest } = snapshot(hints, "hints", [...codec.names, "signal"] as never);
  checkSignal(signal);
  const { view } = codec.write(rest);
  const [host, port] = [cStringOf(node, "node"), cStringOf(service, "service")];
  const action = `look up ${quote(node ?? "any address")}, service ${quote(service ?? "none")}`;
  return { signal, host, port, view, action };
}

/** The error of what `getaddrinfo(3)` returns. */
export function lookUpError(action: string, value: number): CmError {
  const hint = FAILURES[value];
  const reason = hint ?? `getaddrinfo gives ${value}`;
  return new CmError(`Cannot ${action}: ${reason}`, undefined, value, { hint });
}

function cStringOf(value: string | undefined, what: string): Uint8Array<ArrayBuffer> | null {
  if (value === undefined) return null;
  if (!text(value, what).includes("\0")) return cString(value);
  throw new TypeError(`Cannot use ${what} ${quote(value)}: it has a zero character`);
}

function free(list: BigUint64Array): void {
  if (list[0] !== 0n) rdmacm().rdma_freeaddrinfo(handleAt(list[0]!));
}

/** Reads the answers of a list, and frees the list. */
export function answersAt(list: BigUint64Array): AddrInfo[] {
  const answers: AddrInfo[] = [];
  for (let at = handleAt(list[0]!); at !== null;) {
    const view = nativeView(at, structs.rdma_addrinfo.size);
    answers.push(readAnswer(view));
    at = handleAt(readField(view, fields.ai_next));
  }
  free(list);
  return answers;
}

function readAnswer(view: DataView<ArrayBuffer>): AddrInfo {
  const { ai_src_len, ai_dst_len, ai_src_addr, ai_dst_addr } = fields;
  return {
    ...codec.read(view),
    srcAddr: addressAt(readField(view, ai_src_addr), readField(view, ai_src_len)),
    dstAddr: addressAt(readField(view, ai_dst_addr), readField(view, ai_dst_len)),
    srcCanonname: textAt(readField(view, fields.ai_src_canonname)),
    dstCanonname: textAt(readField(view, fields.ai_dst_canonname)),
  };
}

function addressAt(address: bigint, length: number): SocketAddress | undefined {
  const pointer = handleAt(address);
  if (pointer === null || length < structs.sockaddr_in.size) return undefined;
  return readSockaddr(nativeView(pointer, length));
}

function textAt(address: bigint): string | undefined {
  const pointer = handleAt(address);
  return pointer === null ? undefined : readCString(pointer);
}

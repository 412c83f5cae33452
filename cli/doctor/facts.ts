/**
 * What the doctor knows about a host. It is gathered before any check, so that a check is a function of this record.
 */

import type { Reach } from "@rdma/ibverbs";

export interface HostFacts {
  /** The release of the kernel. */
  readonly kernel: string;
  readonly library: LibraryFacts;
  /** The version of the interface of `ib_uverbs`; null if the module is not loaded. */
  readonly uverbs: string | null;
  /** Whether `rdma_ucm` is loaded, which librdmacm needs. */
  readonly rdmaUcm: boolean;
  /** Whether a device belongs to one network namespace (`exclusive`) or to all of them. */
  readonly namespaces: "shared" | "exclusive";
  /** The devices that the kernel shows in this network namespace. */
  readonly inKernel: readonly string[];
  readonly files: readonly DeviceFile[];
  /** The devices that libibverbs lists. */
  readonly devices: readonly DeviceFacts[];
  readonly limits: Limits;
  /** How long counters were watched, in seconds. */
  readonly seconds: number;
}

export interface LibraryFacts {
  /** The file of libibverbs; null if there is none. */
  readonly path: string | null;
  /** Why it cannot be opened. */
  readonly error: string | null;
  /** The end of the names of the providers that it loads, such as `-rdmav34.so`; null if it is not known. */
  readonly suffix: string | null;
  /** The files in the folder of the providers. */
  readonly providers: readonly string[];
}

/** A character device below `/dev/infiniband`. */
export interface DeviceFile {
  /** Its name, such as `uverbs0`. */
  readonly name: string;
  /** The RDMA device. */
  readonly device: string;
  /** Why this process cannot open it, such as `EACCES`; null if it can. */
  readonly error: string | null;
}

export interface DeviceFacts {
  readonly name: string;
  /** Why it cannot be opened. */
  readonly error: string | null;
  readonly ports: readonly PortFacts[];
}

export interface PortFacts {
  readonly port: number;
  /** The name of its state, such as `ACTIVE`. */
  readonly state: string;
  readonly isRoce: boolean;
  readonly lid: number;
  /** The active MTU in bytes. */
  readonly mtu: number;
  /** Its network interfaces, the one of the first GID first. Only RoCE has them. */
  readonly netdevs: readonly NetdevFacts[];
  /** The GID to send from; null if none is usable. */
  readonly gid: GidFacts | null;
  /** The increase of each counter that rose. */
  readonly rises: Readonly<Record<string, number>>;
  /** The counters of errors above 0, which have counted since the device was made. */
  readonly errors: Readonly<Record<string, number>>;
}

export interface GidFacts {
  readonly index: number;
  readonly gid: string;
  readonly isRoceV2: boolean;
  /** How far packets from it go; null on devices whose GIDs are no IP addresses. */
  readonly reach: Reach | null;
}

/** A network interface. */
export interface NetdevFacts {
  readonly name: string;
  /** Whether it is in the network namespace of this process. */
  readonly isHere: boolean;
  /** Whether it is set up. */
  readonly isUp: boolean;
  readonly hasCarrier: boolean;
  /** Whether it has an Ethernet address, as all interfaces except tunnels have. */
  readonly hasAddress: boolean;
  readonly mtu: number;
}

export interface Limits {
  /** Bytes that may be locked; null if there is no limit. */
  readonly lockedMemory: number | null;
  /** Descriptors that may be open; null if there is no limit. */
  readonly openFiles: number | null;
}

/** Whether a port can carry messages. */
export function works({ state, isRoce, gid, netdevs }: PortFacts): boolean {
  const isReady = netdevs.every(({ isHere, hasAddress }) => isHere && hasAddress);
  return state === "ACTIVE" && (!isRoce || gid !== null && isReady);
}

/** Reads what the doctor examines: libibverbs, its devices, and files of the kernel. */

import { library } from "@rdma/ibverbs/ffi";
import {
  type Context,
  GidType,
  LinkLayer,
  listDevices,
  mtuBytes,
  nameOf,
  PortState,
  TransportType,
} from "@rdma/ibverbs";
import { messageOf } from "../shell/command.ts";
import { chosenNames, chosenPorts, openDevice, type PortChoice } from "../shell/ports.ts";
import { listSysfs, listSystem, readSysfs, readSystem } from "../shell/sysfs.ts";
import { monitorOf } from "../watch/port_monitor.ts";
import { ERROR_COUNTERS } from "./counters.ts";
import type {
  DeviceFacts,
  DeviceFile,
  GidFacts,
  HostFacts,
  LibraryFacts,
  Limits,
  NetdevFacts,
  PortFacts,
} from "./facts.ts";

const VERBS = "class/infiniband_verbs";
/** The capability to lock any amount of memory, as a bit of CapEff. */
const CAP_IPC_LOCK = 1n << 14n;
const IFF_UP = 1;
/** Bytes of an Ethernet address. Tunnels have others, or none. */
const ETHERNET_ADDRESS = 6;

/**
 * Examines the host, or the chosen device and port. Counters are watched while `work` runs; its result is how many
 * seconds that took. It does not run if there is no libibverbs.
 *
 * @throws {CommandError} With the status, if there are devices, but not the chosen device or port.
 */
export async function gather(
  choice: PortChoice,
  work: () => Promise<number>,
  status?: number,
): Promise<HostFacts> {
  const { "ib-dev": chosen } = choice;
  const isChosen = (name: string): boolean => chosen === undefined || chosen === name;
  const found = libraryFacts();
  const inKernel = listSysfs("class/infiniband") ?? [];
  const files = deviceFiles();
  const listed = found.error === null ? listDevices().map(({ name }) => name) : [];
  const known = new Set([...inKernel, ...files.map(({ device }) => device), ...listed]);
  if (known.size > 0) chosenNames([...known].sort(), choice, status);
  let seconds = 0;
  const watch = async (): Promise<void> => {
    seconds = await work();
  };
  const devices = found.error === null
    ? await devicesOf(listed.filter(isChosen), choice, watch, status)
    : [];
  return {
    kernel: Deno.osRelease(),
    library: found,
    uverbs: readSysfs(`${VERBS}/abi_version`) ?? null,
    rdmaUcm: listSysfs("class/misc")?.includes("rdma_cm") ?? false,
    namespaces: readSysfs("module/ib_core/parameters/netns_mode") === "N" ? "exclusive" : "shared",
    inKernel: inKernel.filter(isChosen),
    files: files.filter(({ device }) => isChosen(device)),
    devices,
    limits: limits(),
    seconds,
  };
}

function libraryFacts(): LibraryFacts {
  try {
    library();
  } catch (error) {
    return { path: null, error: messageOf(error), suffix: null, providers: [] };
  }
  const path = fileOfLibrary();
  // The binary of the library contains the pattern of the names of its providers.
  const text = path === null ? "" : new TextDecoder("latin1").decode(Deno.readFileSync(path));
  const [, folder, suffix] = /(\/[\x21-\x7e]*)\/lib%s(-rdmav\d+\.so)\0/.exec(text) ?? [];
  const providers = folder === undefined ? [] : listSystem(folder) ?? [];
  return { path, error: null, suffix: suffix ?? null, providers };
}

/** The file of the library, which was opened by a name or by a path. */
function fileOfLibrary(): string | null {
  const { path } = library();
  if (path.startsWith("/")) return path;
  const maps = readSystem("/proc/self/maps") ?? "";
  return /\/\S*\/libibverbs\.so\S*$/m.exec(maps)?.[0] ?? null;
}

function deviceFiles(): DeviceFile[] {
  const names = (listSysfs(VERBS) ?? []).filter((name) => name.startsWith("uverbs"));
  return names.map((name) => ({
    name,
    device: readSysfs(`${VERBS}/${name}/ibdev`) ?? "",
    error: errorOf(() => Deno.openSync(`/dev/infiniband/${name}`, { read: true, write: true })),
  }));
}

/** The code of the error with which something cannot be opened. */
function errorOf(open: () => Disposable): string | null {
  try {
    open()[Symbol.dispose]();
    return null;
  } catch (error) {
    return (error as { code?: string }).code ?? messageOf(error);
  }
}

async function devicesOf(
  names: readonly string[],
  choice: PortChoice,
  watch: () => Promise<void>,
  status?: number,
): Promise<DeviceFacts[]> {
  using stack = new DisposableStack();
  const opened = names.map((name) => ({ name, ...attempt(() => openDevice(name, stack)) }));
  const contexts = opened.flatMap(({ value }) => value ?? []);
  const watched = chosenPorts(contexts, choice, status).map(([context, port]) => ({
    context,
    start: attempt(() => watchedPort(context, port)),
  }));
  await watch();
  return opened.flatMap(({ name, error, value }) => {
    const ports = watched.filter(({ context }) => context === value)
      .map(({ start }) =>
        start.value === undefined ? { error: start.error } : attempt(start.value)
      );
    if (error === null && ports.length === 0) return [];
    const fault = error ?? ports.find(({ error }) => error !== null)?.error ?? null;
    return [{ name, error: fault, ports: ports.flatMap(({ value }) => value ?? []) }];
  });
}

/** A result, or the reason why there is none: a device may disappear at any time. */
function attempt<T>(get: () => T): { readonly error: string | null; readonly value?: T } {
  try {
    return { error: null, value: get() };
  } catch (error) {
    return { error: messageOf(error) };
  }
}

/** Starts to watch a port. The result reads it. */
function watchedPort(context: Context, port: number): () => PortFacts {
  const sample = monitorOf(context, port);
  const violations = (): Record<string, number> => {
    const { qkeyViolCntr, badPkeyCntr } = context.queryPort(port);
    return { qkeyViolCntr, badPkeyCntr };
  };
  sample();
  const before = violations();
  return () => {
    const counters = [
      ...sample().counters.map(({ name, value, delta = 0n }) => ({ name, value, delta })),
      ...Object.entries(violations())
        .map(([name, value]) => ({ name, value, delta: value - before[name]! })),
    ];
    const rises = counters.filter(({ delta }) => delta > 0).map((
      { name, delta },
    ) => [name, Number(delta)]);
    const errors = counters.filter(({ name, value }) => value > 0 && ERROR_COUNTERS.includes(name))
      .map(({ name, value }) => [name, Number(value)]);
    return {
      ...portFacts(context, port),
      rises: Object.fromEntries(rises),
      errors: Object.fromEntries(errors),
    };
  };
}

function portFacts(context: Context, port: number): Omit<PortFacts, "rises" | "errors"> {
  const { state, linkLayer, lid, activeMtu } = context.queryPort(port);
  const isRoce = linkLayer === LinkLayer.ETHERNET &&
    context.device.transportType === TransportType.IB;
  const entries = context.queryGidTable(port).filter(({ gid }) => !gid.isZero);
  const indexes = new Map(
    entries.map(({ gidIndex, ndevIfindex }) => [
      readSysfs(
        `class/infiniband/${context.device.name}/ports/${port}/gid_attrs/ndevs/${gidIndex}`,
      ),
      ndevIfindex,
    ]),
  );
  const parent = readSysfs(`class/infiniband/${context.device.name}/parent`);
  // Without an address there is no GID that names the interface, but soft-RoCE names it itself.
  if (indexes.size === 0 && parent !== undefined) indexes.set(parent, 0);
  indexes.delete(undefined);
  const netdevs = [...indexes].map(([name, index]) => netdevFacts(name!, index));
  const ours = netdevs.filter(({ isHere }) => isHere);
  return {
    port,
    state: nameOf(PortState, state),
    isRoce,
    lid,
    mtu: mtuBytes(activeMtu),
    // Interfaces of other namespaces matter only if the port has none in this one.
    netdevs: ours.length > 0 ? ours : netdevs,
    gid: gidToUse(context, port),
  };
}

function gidToUse(context: Context, port: number): GidFacts | null {
  try {
    const { gidIndex, gid, gidType, reach = null } = context.recommendGid(port);
    return { index: gidIndex, gid: `${gid}`, isRoceV2: gidType === GidType.ROCE_V2, reach };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

/** A network interface by its name, and by its index if that is not 0: another namespace may have one of that name. */
function netdevFacts(name: string, index: number): NetdevFacts {
  const read = (file: string): number => Number(readSysfs(`class/net/${name}/${file}`));
  const here = readSystem("/proc/self/net/dev") ?? "";
  const isNamed = here.split("\n").some((line) => line.trim().startsWith(`${name}:`));
  return {
    name,
    isHere: isNamed && (index === 0 || read("ifindex") === index),
    isUp: (read("flags") & IFF_UP) !== 0,
    hasAddress: [undefined, `${ETHERNET_ADDRESS}`].includes(
      readSysfs(`class/net/${name}/addr_len`),
    ),
    hasCarrier: read("carrier") === 1,
    mtu: read("mtu") || 0,
  };
}

function limits(): Limits {
  const text = readSystem("/proc/self/limits") ?? "";
  const limit = (name: string): number | null => {
    const soft = new RegExp(`^${name} +(\\d+) `, "m").exec(text)?.[1];
    return soft === undefined ? null : Number(soft);
  };
  const capabilities = /^CapEff:\s+(\w+)$/m.exec(readSystem("/proc/self/status") ?? "")?.[1];
  const mayLockAll = (BigInt(`0x${capabilities ?? 0}`) & CAP_IPC_LOCK) !== 0n;
  return {
    lockedMemory: mayLockAll ? null : limit("Max locked memory"),
    openFiles: limit("Max open files"),
  };
}

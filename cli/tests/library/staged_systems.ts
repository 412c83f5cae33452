// Systems that doctor looks at, by their files.

import { gather } from "../../doctor/gather.ts";
import type { HostFacts } from "../../doctor/facts.ts";
import { LinkLayer } from "../../../mod.ts";
import * as recorder from "../../../tests/provider/recorder.ts";
import { type Files, withFiles } from "../pure/system.ts";

export const IB = "/sys/class/infiniband/recorder0";
const NET = "/sys/class/net";
/** The index of the network interface that the GIDs of the recorder have. */
const INDEX = "2";

/** The files of a system. Its network interfaces are in other states and namespaces. */
export const FILES: Files = {
  "/dev/infiniband/uverbs0": "",
  "/sys/class/infiniband_verbs/abi_version": "6",
  "/sys/class/infiniband_verbs/uverbs0/ibdev": "recorder0",
  "/sys/class/infiniband_verbs/uverbs7/ibdev": "other0",
  "/sys/class/misc/rdma_cm/dev": "10:1",
  "/sys/module/ib_core/parameters/netns_mode": "N",
  [`${IB}/parent`]: "eth1",
  [`${IB}/ports/1/counters/port_rcv_errors`]: "1",
  [`${IB}/ports/1/gid_attrs/ndevs/0`]: "eth7",
  [`${IB}/ports/1/gid_attrs/ndevs/1`]: "eth8",
  [`${NET}/eth1/flags`]: "0x1003",
  [`${NET}/eth1/carrier`]: "1",
  [`${NET}/eth1/mtu`]: "9000",
  [`${NET}/eth7/ifindex`]: "7",
  [`${NET}/eth7/flags`]: "0x1002",
  [`${NET}/eth7/carrier`]: "0",
  [`${NET}/eth8/flags`]: "0x1001",
  "/proc/self/net/dev": "Inter-| Receive\n  eth1: 1 2\n  eth7: 1 2\n eth80: 3",
  "/proc/self/limits":
    "Max open files            1024                 4096                 files\n" +
    "Max locked memory         65536                unlimited            bytes",
  "/proc/self/status": "Name:\tx\nCapEff:\t0000000000000001",
};

/** Systems by their names. */
export const SYSTEMS: Readonly<Record<string, Files>> = {
  "all files": FILES,
  "an interface in this namespace": { ...FILES, [`${NET}/eth7/ifindex`]: INDEX },
  "no other interface in this namespace": {
    ...{ ...FILES, [`${NET}/eth7/ifindex`]: INDEX, "/proc/self/net/dev": "Inter-|\n  eth7: 1 2" },
  },
  "an Ethernet address": { ...FILES, [`${NET}/eth7/addr_len`]: "6" },
  "an address of an IPv4 tunnel": { ...FILES, [`${NET}/eth7/addr_len`]: "4" },
  "no address": { ...FILES, [`${NET}/eth7/addr_len`]: "0" },
  "hardly any files": {
    [`${IB}/ports/1/counters/port_rcv_errors`]: "1",
    "/proc/self/status": "CapEff:\t0000000000004000",
  },
};

/** What doctor gathers of a system while something is done: of a device, or of all. */
export async function factsOf(
  files: Files,
  work: () => void = () => {},
  device: string | null = "recorder0",
): Promise<HostFacts> {
  recorder.reset();
  recorder.answer("ibv_query_port", { link_layer: LinkLayer.ETHERNET, active_mtu: 3, lid: 5 });
  using _ = withFiles(files);
  return await gather({ "ib-dev": device ?? undefined, "ib-port": undefined }, () => {
    work();
    return Promise.resolve(2);
  });
}

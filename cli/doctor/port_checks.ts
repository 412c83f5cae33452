/** Faults of ports: their links, their addresses, and their counters. */

import type { Reach } from "@rdma/ibverbs";
import { COUNTERS, type Meaning } from "./counters.ts";
import type { DeviceFacts, HostFacts, NetdevFacts, PortFacts } from "./facts.ts";
import type { Check, Fault } from "./finding.ts";

type PortCheck = (port: PortFacts, facts: HostFacts) => readonly Omit<Fault, "subject">[];

const CHECKS: Readonly<Record<string, PortCheck>> = {
  "netdev-namespace": ({ netdevs }) =>
    netdevs.filter(({ isHere }) => !isHere).map(({ name }) => ({
      problem: `its network interface ${name} is in another network namespace`,
      remedy: `run the program there, or move it as root, from where it is: ip link set ${name} ` +
        "netns NAME",
    })),
  "no-hardware-address": ({ isRoce, netdevs }) =>
    !isRoce ? [] : netdevs.filter(({ isHere, hasAddress }) => isHere && !hasAddress).map((
      { name },
    ) => ({
      problem: `its network interface ${name} has no Ethernet address, as tunnels have none ` +
        "(tun, WireGuard): no program can use the port",
      remedy: "make the device on an Ethernet interface, as root: rdma link delete DEVICE; " +
        "rdma link add DEVICE type rxe netdev NETDEV",
    })),
  "netdev-down": (port) =>
    downNetdevs(port).map(({ name }) => ({
      problem: `its network interface ${name} is down`,
      remedy: `as root: ip link set ${name} up`,
    })),
  "link-down": (port) => {
    const isExplained = port.netdevs.some(({ isHere, isUp }) => !isHere || !isUp);
    return port.state === "ACTIVE" || isExplained ? [] : [linkDown(port)];
  },
  "no-gid": (port) =>
    !port.isRoce || port.state !== "ACTIVE" || port.gid !== null ? [] : [{
      problem: "no GID is usable, because its network interface has no address",
      remedy: addressFor(port),
    }],
  "link-local-only": (port) => {
    const gid = gidThatReaches(port, "link");
    if (gid === undefined) return [];
    const family = gid.includes(".") ? "IPv6" : "IPv4";
    return [{
      level: "warning",
      problem: `its only address is ${gid}: it reaches the same link only, and no ${family} peer`,
      remedy: addressFor(port),
    }];
  },
  "loopback-only": (port) => {
    const gid = gidThatReaches(port, "host");
    return gid === undefined ? [] : [{
      level: "warning",
      problem:
        `its only address is ${gid}, of the loopback interface: it reaches this host only, and no connection ` +
        "by address (RDMA CM) goes by it",
      remedy:
        "within this host, exchange addresses by TCP (tcpPort); for other hosts make a device on another " +
        "interface, as root: rdma link add DEVICE type rxe netdev NETDEV",
    }];
  },
};

/** The checks of ports, by their names. Those of counters are last. */
export const PORT_CHECKS: Readonly<Record<string, Check>> = Object.fromEntries(
  Object.entries({ ...CHECKS, ...counterChecks() }).map(([id, check]) => [id, ofAllPorts(check)]),
);

/** How findings name a port. */
export function portName(device: Pick<DeviceFacts, "name">, { port }: PortFacts): string {
  return `${device.name} port ${port}`;
}

function ofAllPorts(check: PortCheck): Check {
  return (facts) =>
    facts.devices.flatMap((device) =>
      device.ports.flatMap((port) =>
        check(port, facts).map((fault) => ({ subject: portName(device, port), ...fault }))
      )
    );
}

/** The GID to send from, if packets of the port reach exactly this far. */
function gidThatReaches({ gid, state }: PortFacts, reach: Reach): string | undefined {
  const isIt = gid !== null && gid.isRoceV2 && gid.reach === reach && state === "ACTIVE";
  return isIt ? gid.gid : undefined;
}

function downNetdevs({ netdevs, state }: PortFacts): NetdevFacts[] {
  return state === "ACTIVE" ? [] : netdevs.filter(({ isHere, isUp }) => isHere && !isUp);
}

function linkDown({ state, isRoce, netdevs }: PortFacts): Omit<Fault, "subject"> {
  if (!isRoce && state === "INIT") {
    return {
      problem: "the link is up, and no subnet manager has made it active (INIT)",
      remedy: "start a subnet manager on a host or a switch of the fabric, such as opensm",
    };
  }
  const silent = netdevs.filter(({ hasCarrier }) => !hasCarrier)
    .map(({ name }) => `, and its network interface ${name} has no carrier`);
  return {
    problem: `there is no link: its state is ${state}${silent.join("")}`,
    remedy: "look at the cable, at the port of the switch, and at the peer",
  };
}

function addressFor({ netdevs }: PortFacts): string {
  const name = netdevs[0]?.name ?? "NETDEV";
  return `give it an address of your network, as root: ip addr add ADDRESS/24 dev ${name}`;
}

function counterChecks(): Record<string, PortCheck> {
  return Object.fromEntries(
    Object.entries(COUNTERS).map(([id, meaning]) => [id, riseOf(meaning)]),
  );
}

function riseOf({ counters, explainedBy = [], problem, remedy }: Meaning): PortCheck {
  return ({ rises }, { seconds }) => {
    const risen = counters.filter((name) => name in rises);
    const causes = explainedBy.flatMap((id) => COUNTERS[id]!.counters);
    if (risen.length === 0 || causes.some((name) => name in rises)) return [];
    const amounts = risen.map((name) => `${name} +${rises[name]}`).join(", ");
    return [{ level: "warning", problem: `${problem} (${amounts} in ${seconds} s)`, remedy }];
  };
}

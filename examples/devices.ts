/**
 * Lists the RDMA devices, their ports, and the GIDs of each port. A GID is the address of a port: on RoCE it is made from
 * an IP address. A port has several GIDs, and a program chooses one by its index.
 *
 * ```text
 * rxe0: CA, IB
 *   port 1: ACTIVE, ETHERNET, MTU 1024
 *       GID 0  ROCE_V2   fe80::5054:ff:fe12:3456
 *     * GID 1  ROCE_V2   ::ffff:10.0.0.1
 *     * RoCE v2 with an IPv4 address: it reaches other subnets, and most peers have one
 * ```
 *
 * @module
 */

import {
  Context,
  GidType,
  LinkLayer,
  listDevices,
  mtuBytes,
  nameOf,
  NodeType,
  PortState,
  TransportType,
} from "@rdma/ibverbs";
import { program } from "./support/program.ts";

const HELP = `Lists the RDMA devices, their ports and GIDs.

  deno run --allow-ffi examples/devices.ts [OPTIONS]

  -d, --device NAME  show this device only
  -h, --help         show this text

The star marks the GID that most programs should send from.
`;

const OPTIONS = { device: { type: "string", short: "d" } } as const;

/** Lists devices. */
// deno-lint-ignore require-await -- errors reject
export const main = program("devices", HELP, { options: OPTIONS }, async ({ values }) => {
  const names = listDevices().map(({ name }) => name);
  if (names.length === 0) throw new Error("There is no RDMA device");
  // The list has names and GUIDs. All else needs an open device.
  for (const name of values.device === undefined ? names : [values.device]) {
    using context = Context.open(name);
    const { nodeType, transportType } = context.device;
    console.log(`${name}: ${nameOf(NodeType, nodeType)}, ${nameOf(TransportType, transportType)}`);
    // Ports are counted from 1.
    for (let port = 1; port <= context.physPortCnt; port++) showPort(context, port);
  }
});

function showPort(context: Context, port: number): void {
  const { state, linkLayer, activeMtu } = context.queryPort(port);
  const [stateName, layer] = [nameOf(PortState, state), nameOf(LinkLayer, linkLayer)];
  console.log(`  port ${port}: ${stateName}, ${layer}, MTU ${mtuBytes(activeMtu)}`);
  const table = context.queryGidTable(port);
  // A port without GIDs is normal: it has no link, or no address yet.
  if (table.length === 0) return console.log("      no GIDs");
  // Peers on other subnets do not reach every GID, so the choice matters.
  const best = context.recommendGid(port);
  for (const { gid, gidIndex, gidType } of table) {
    const mark = gidIndex === best.gidIndex ? "*" : " ";
    const type = nameOf(GidType, gidType).padEnd(8);
    console.log(`    ${mark} GID ${String(gidIndex).padEnd(2)} ${type}  ${gid}`);
  }
  console.log(`    * ${best.reason}`);
}

if (import.meta.main) Deno.exitCode = await main(Deno.args);

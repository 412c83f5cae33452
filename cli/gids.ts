import { type Context, formatAddress, type GidEntry, GidType, LinkLayer } from "@rdma/ibverbs";
import { anyOf, chosenPorts, fullGid, openDevices, PORT_OPTIONS } from "./shell/ports.ts";
import { type Command, command, messageOf } from "./shell/command.ts";
import { describeGid } from "./devinfo/describe.ts";
import { readSysfs } from "./shell/sysfs.ts";
import { alignColumns } from "./shell/text.ts";
import type { Line } from "./shell/terminal.ts";

export const gids: Command = command({
  name: "gids",
  summary: "Shows the GIDs of ports, as show_gids does, and which one to send from.",
  details: `
The star marks the GID that most programs should send from; the reason is below the table.
INDEX is what other programs call the GID index (ib_send_lat -x, ibv_rc_pingpong -g).
Deno opens /sys only to programs with all permissions (-A). Without them NETDEV is the
number of the network interface, such as #2, and not its name.`,
  options: PORT_OPTIONS,
  run(values, terminal): number {
    using stack = new DisposableStack();
    let status = 0;
    const report = (error: unknown): void => {
      terminal.printError(`gids: ${messageOf(error)}`);
      status = 1;
    };
    const ports = chosenPorts(openDevices(values, stack, report), values);
    const tables = anyOf(ports, ([context, port]) => tableOf(context, port), report);
    if (values.json) terminal.printJson(tables.map(describe));
    else terminal.print(gidLines(tables));
    return status;
  },
});

/** A GID of a table, as it is shown. */
export interface NamedGid extends GidEntry {
  /** How packets are addressed: `v1` and `v2` are RoCE. */
  readonly version: "IB" | "v1" | "v2";
  /** The name of the network interface, such as `eth0`, or its number, such as `#2`. */
  readonly netdev: string;
}

export interface GidTable {
  readonly device: string;
  readonly port: number;
  readonly entries: readonly NamedGid[];
  /** The index of the GID that is recommended. */
  readonly recommended: number | undefined;
  /** Why it is recommended, or why none is. */
  readonly reason: string;
}

function tableOf(context: Context, port: number): GidTable {
  const device = context.device.name;
  const { linkLayer } = context.queryPort(port);
  const entries = context.queryGidTable(port).map((entry) => ({
    ...entry,
    version: versionOf(entry, linkLayer),
    netdev: netdevOf(device, entry),
  }));
  return { device, port, entries, ...recommendation(context, port) };
}

function recommendation(
  context: Context,
  port: number,
): { recommended: number | undefined; reason: string } {
  try {
    const { gidIndex, reason } = context.recommendGid(port);
    return { recommended: gidIndex, reason };
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return { recommended: undefined, reason: error.message };
  }
}

function versionOf({ gidType }: GidEntry, linkLayer: LinkLayer): NamedGid["version"] {
  if (gidType === GidType.ROCE_V2) return "v2";
  // Some drivers give the type IB on Ethernet too.
  return gidType === GidType.ROCE_V1 || linkLayer === LinkLayer.ETHERNET ? "v1" : "IB";
}

function netdevOf(device: string, { portNum, gidIndex, ndevIfindex }: GidEntry): string {
  const path = `class/infiniband/${device}/ports/${portNum}/gid_attrs/ndevs/${gidIndex}`;
  return readSysfs(path) || (ndevIfindex === 0 ? "" : `#${ndevIfindex}`);
}

const HEADER = ["", "DEV", "PORT", "INDEX", "GID", "IPv4", "VER", "NETDEV"];

/** The tables as lines, and below them the recommendations. */
export function gidLines(tables: readonly GidTable[]): Line[] {
  const rows = tables.flatMap(({ device, port, entries, recommended }) =>
    entries.map(({ gid, gidIndex, version, netdev }) => {
      const ipv4 = gid.isIpv4Mapped ? formatAddress(gid.bytes.subarray(12)) : "";
      const mark = gidIndex === recommended ? "*" : "";
      return [mark, device, `${port}`, `${gidIndex}`, fullGid(gid), ipv4, version, netdev];
    })
  );
  const [header, ...body] = alignColumns([HEADER, ...rows]);
  return [
    [{ text: header!, style: "bold" }],
    ...body.map((text, i): Line => rows[i]![0] === "*" ? [{ text, style: "green" }] : text),
    "",
    ...tables.map(reasonLine),
  ];
}

function reasonLine({ device, port, recommended, reason }: GidTable): string {
  const where = `${device} port ${port}`;
  return recommended === undefined
    ? `${where}: ${reason}`
    : `* ${where}: index ${recommended}. ${reason}`;
}

function describe({ entries, ...rest }: GidTable): Record<string, unknown> {
  const gids = entries.map((entry) => {
    const { version, netdev } = entry;
    return { ...describeGid(entry), version, netdev };
  });
  return { ...rest, gids };
}

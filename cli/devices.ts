import {
  Context,
  type DeviceInfo,
  listDevices,
  nameOf,
  NodeType,
  TransportType,
} from "@rdma/ibverbs";
import { type Command, command } from "./shell/command.ts";
import { hex } from "./shell/text.ts";

export const devices: Command = command({
  name: "devices",
  summary: "Lists the RDMA devices, as ibv_devices does.",
  options: {},
  run({ json }, terminal): number {
    const list = listDevices();
    if (json) terminal.printJson(list.map(describe));
    // It throws, and says why there is none.
    else if (list.length === 0) Context.open().close();
    else terminal.print(tableOf(list));
    return list.length === 0 ? 1 : 0;
  },
});

export function tableOf(list: readonly DeviceInfo[]): string[] {
  const rows = [["device", "   node GUID"], ["------", "-".repeat(16)]];
  for (const { name, guid } of list) rows.push([name, hex(guid, 16).slice(2)]);
  return rows.map(([name, guid]) => `    ${name!.padEnd(16)}\t${guid}`);
}

function describe({ nodeType, transportType, guid, ...rest }: DeviceInfo): Record<string, unknown> {
  return {
    ...rest,
    guid: hex(guid, 16).slice(2),
    nodeType: nameOf(NodeType, nodeType),
    transportType: nameOf(TransportType, transportType),
  };
}

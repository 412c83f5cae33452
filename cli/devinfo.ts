import { Context, listDevices } from "@rdma/ibverbs";
import { namesOf, PORT_OPTIONS, type PortChoice, portsOf } from "./shell/ports.ts";
import { type Command, command, flag, messageOf } from "./shell/command.ts";
import { describeDevice, describePort } from "./devinfo/describe.ts";
import { capabilityLines, deviceLines } from "./devinfo/device_lines.ts";
import { portLines } from "./devinfo/port_lines.ts";
import { readSysfs } from "./shell/sysfs.ts";
import type { Terminal } from "./shell/terminal.ts";

const STATUS = {
  openFailed: 1,
  queryDeviceFailed: 2,
  closeFailed: 3,
  noSuchPort: 4,
  queryPortFailed: 5,
  noSuchDevice: 255,
  usage: 255,
} as const;

export const devinfo: Command = command({
  name: "devinfo",
  summary: "Shows devices and their ports, as ibv_devinfo does.",
  details: `
Deno opens /sys only to programs with all permissions (-A). Without them board_id is left
out. --json prints all attributes, with or without --verbose.`,
  options: {
    ...PORT_OPTIONS,
    list: flag("print the names of the devices only", "l"),
    verbose: flag("print all attributes", "v"),
  },
  usageStatus: STATUS.usage,
  run(values, terminal): number {
    const { list, json } = values;
    if (list) {
      const names = listDevices().map(({ name }) => name);
      if (json) terminal.printJson(names);
      else terminal.print(namesLines(names));
      return 0;
    }
    const described: unknown[] = [];
    let status = 0;
    const attempt: Attempt = (bit, action) => {
      try {
        return action();
      } catch (error) {
        terminal.printError(`devinfo: ${messageOf(error)}`);
        status |= bit;
      }
    };
    // A device that fails must not prevent the next one from being shown.
    for (const name of namesOf(values, STATUS.noSuchDevice)) {
      const context = attempt(STATUS.openFailed, () => Context.open(name));
      if (context === undefined) continue;
      showDevice(context, { ...values, terminal, described, attempt });
      attempt(STATUS.closeFailed, () => context[Symbol.dispose]());
    }
    if (json) terminal.printJson(described);
    return status;
  },
});

/** The output of `ibv_devinfo -l`. */
export function namesLines(names: readonly string[]): string[] {
  const plural = names.length === 1 ? "" : "s";
  return [`${names.length} HCA${plural} found:`, ...names.map((name) => `\t${name}`), ""];
}

/** Runs an action. If it fails, the error is printed and the bit is set in the status. */
type Attempt = <T>(bit: number, action: () => T) => T | undefined;

interface Report extends PortChoice {
  readonly verbose: boolean;
  readonly json: boolean;
  readonly terminal: Terminal;
  /** With `--json`, the devices so far. They are printed at the end. */
  readonly described: unknown[];
  readonly attempt: Attempt;
}

function showDevice(context: Context, report: Report): void {
  const { verbose, json, terminal, described, attempt } = report;
  const attr = attempt(STATUS.queryDeviceFailed, () => context.queryDeviceEx());
  const numbers = attr && attempt(STATUS.noSuchPort, () => portsOf(context, report));
  if (numbers === undefined) return;
  const boardId = readSysfs(`class/infiniband/${context.device.name}/board_id`);
  const device = { info: context.device, attr: attr!, boardId };
  const ports: unknown[] = [];
  if (json) described.push({ ...describeDevice(device, context.numCompVectors), ports });
  else {
    terminal.print(deviceLines(device));
    if (verbose) terminal.print(capabilityLines(attr!, context.numCompVectors));
  }
  for (const number of numbers) {
    const port = attempt(STATUS.queryPortFailed, () => ({
      number,
      attr: context.queryPort(number),
      gids: context.queryGidTable(number),
      transportType: context.device.transportType,
      speed: speedOf(context, number),
    }));
    // ibv_devinfo does not go on to the next port either.
    if (port === undefined) return;
    if (json) ports.push(describePort(port));
    else terminal.print(portLines(port, verbose));
  }
}

/** As ibv_devinfo does, it does not say why a speed is not known. */
function speedOf(context: Context, port: number): bigint | undefined {
  try {
    return context.queryPortSpeed(port);
  } catch {
    return undefined;
  }
}

import { Context, listDevices } from "../mod.ts";
import { PORT_OPTIONS } from "./shell/ports.ts";
import { type Command, command, CommandError, flag } from "./shell/command.ts";
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
Deno opens /sys only to programs with all permissions (deno run -A). Without them board_id is left
out. --json prints all attributes, with or without --verbose.`,
  options: {
    ...PORT_OPTIONS,
    list: flag("print the names of the devices only", "l"),
    verbose: flag("print all attributes", "v"),
  },
  usageStatus: STATUS.usage,
  run({ "ib-dev": device, "ib-port": port, list, verbose, json }, terminal): number {
    const names = listDevices().map(({ name }) => name);
    if (list) return printNames(names, json, terminal);
    const chosen = device === undefined ? names : names.filter((name) => name === device);
    if (chosen.length === 0) throw notFound(device, names);
    const report = new Report(terminal, { port, verbose, json });
    for (const name of chosen) report.add(name);
    return report.end();
  },
});

function printNames(names: readonly string[], json: boolean, terminal: Terminal): number {
  if (json) terminal.printJson(names);
  else terminal.print(namesLines(names));
  return 0;
}

/** The output of `ibv_devinfo -l`. */
export function namesLines(names: readonly string[]): string[] {
  const plural = names.length === 1 ? "" : "s";
  return [`${names.length} HCA${plural} found:`, ...names.map((name) => `\t${name}`), ""];
}

function notFound(device: string | undefined, names: readonly string[]): CommandError {
  const list = names.length === 0 ? "there are no RDMA devices" : `devices: ${names.join(", ")}`;
  const message = device === undefined ? list : `there is no device "${device}"; ${list}`;
  return new CommandError(message, STATUS.noSuchDevice);
}

interface Settings {
  readonly port: number | undefined;
  readonly verbose: boolean;
  readonly json: boolean;
}

/** Prints devices one after the other. A device that fails does not keep the next one from being shown. */
class Report {
  readonly #terminal: Terminal;
  readonly #settings: Settings;
  readonly #described: unknown[] = [];
  #status = 0;

  constructor(terminal: Terminal, settings: Settings) {
    this.#terminal = terminal;
    this.#settings = settings;
  }

  /** Prints a device. With `--json` it is kept for the end. */
  add(name: string): void {
    const context = this.#attempt(STATUS.openFailed, () => Context.open(name));
    if (context === undefined) return;
    this.#addContext(context);
    this.#attempt(STATUS.closeFailed, () => context[Symbol.dispose]());
  }

  /** Prints what was kept. The result is the status, which has the bits of all that failed. */
  end(): number {
    if (this.#settings.json) this.#terminal.printJson(this.#described);
    return this.#status;
  }

  #addContext(context: Context): void {
    const { port, verbose, json } = this.#settings;
    const attr = this.#attempt(STATUS.queryDeviceFailed, () => context.queryDeviceEx());
    if (attr === undefined) return;
    const { physPortCnt } = attr.origAttr;
    if (port !== undefined && port > physPortCnt) {
      return this.#fail(
        STATUS.noSuchPort,
        `there is no port ${port}: "${context.device.name}" has ${physPortCnt}`,
      );
    }
    const boardId = readSysfs(`class/infiniband/${context.device.name}/board_id`);
    const device = { info: context.device, attr, boardId };
    const ports: unknown[] = [];
    if (json) this.#described.push({ ...describeDevice(device, context.numCompVectors), ports });
    else {
      this.#terminal.print(deviceLines(device));
      if (verbose) this.#terminal.print(capabilityLines(attr, context.numCompVectors));
    }
    const last = port ?? physPortCnt;
    for (let number = port ?? 1; number <= last; number++) {
      const found = this.#queryPort(context, number);
      // ibv_devinfo does not go on to the next port either.
      if (found === undefined) return;
      if (json) ports.push(describePort(found));
      else this.#terminal.print(portLines(found, verbose));
    }
  }

  #queryPort(context: Context, number: number): Parameters<typeof portLines>[0] | undefined {
    return this.#attempt(STATUS.queryPortFailed, () => ({
      number,
      attr: context.queryPort(number),
      gids: context.gidTable(number),
      transportType: context.device.transportType,
    }));
  }

  #attempt<T>(status: number, action: () => T): T | undefined {
    try {
      return action();
    } catch (error) {
      this.#fail(status, error instanceof Error ? error.message : String(error));
    }
  }

  #fail(status: number, message: string): void {
    this.#terminal.printError(`devinfo: ${message}`);
    this.#status |= status;
  }
}

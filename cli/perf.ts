import { mtuBytes } from "@rdma/ibverbs";
import {
  type Command,
  command,
  CommandError,
  flag,
  messageOf,
  text,
  UsageError,
} from "./shell/command.ts";
import { openFirst } from "./shell/ports.ts";
import { type Bench, measure, serve } from "./perf/ends.ts";
import { Progress } from "./perf/progress.ts";
import { type Result, resultLines, tableLines } from "./perf/report.ts";
import { allSizes, chosenSettings, CLIENT_OPTIONS, refuseForServer } from "./perf/settings.ts";
import { svgOf } from "./perf/svg.ts";
import { optionsFor, readOptions } from "./peer/options.ts";

const CHOICE = { numbers: ["port", "ib-port", "timeout"] } as const;

export const perf: Command = command({
  name: "perf",
  summary: "Measures the latency of messages, as a histogram, and the bandwidth, as text and SVG.",
  details: `
Without HOST it is a server and waits for a client; with HOST it connects to the server there. The
peer is perf too: the options have letters of perftest, and ib_send_lat and its kind have another
protocol. The client chooses what is measured, and both ends show it. The latency is half of the time from a
message to its answer, or all of the time of an RDMA read. The bandwidth of sends is what the server
receives; RDMA writes and reads are counted by the client. Latencies are measured with one queue
pair. --all takes long without --duration: it has messages of 8 megabytes.
It needs --allow-net for the exchange of addresses, and --allow-write for --svg.`,
  operands: "[HOST]",
  options: {
    ...optionsFor(CHOICE),
    ...CLIENT_OPTIONS,
    all: flag("client: all powers of two as sizes, from 2 bytes to 8 MB", "a"),
    svg: text("FILE", "draw the histogram"),
  },
  async run(values, terminal, operands): Promise<number> {
    const options = readOptions(CHOICE, values, operands);
    const { svg, json, all } = values;
    if (options.host === undefined) refuseForServer(values);
    if (all && svg !== undefined) throw new UsageError("--svg draws one size: leave out --all");
    if (all && values.size !== undefined) throw new UsageError("--all has all sizes: no --size");
    const settings = chosenSettings(values);
    const report = (error: unknown): void => terminal.printError(`perf: ${messageOf(error)}`);
    using context = openFirst(options.ibDev, report);
    using progress = new Progress(terminal.interactive && !json ? terminal : undefined);
    const bench: Bench = { context, options, progress, report };
    const mtu = mtuBytes(context.queryPort(options.ibPort).activeMtu);
    const sizes = all ? allSizes(settings, mtu) : [settings.size];
    const results = options.host === undefined
      ? await serve(bench)
      : await measure(bench, sizes.map((size) => ({ ...settings, size })));
    progress[Symbol.dispose]();
    const [first, ...others] = results;
    if (json) terminal.printJson(others.length === 0 ? first : results);
    else terminal.print(others.length === 0 ? resultLines(first!) : tableLines(results));
    if (svg !== undefined) await Deno.writeTextFile(svg, drawn(results));
    return 0;
  },
});

function drawn([result]: readonly Result[]): string {
  const { latency } = result!;
  if (latency === undefined) throw new CommandError("Cannot draw: the client has the latencies");
  return svgOf({ ...result!, latency });
}

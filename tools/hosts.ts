/**
 * Runs the cases of tests/hosts: two guests on one network send to each other, and another program decodes the packets.
 */

import { ensureGuest } from "../rxe/guest/parts.ts";
import { runOnTwoHosts } from "../rxe/guest/run.ts";
import { positive, text } from "./host/options.ts";
import { capture, ensurePackages, exists, say, SetupError } from "./host/setup.ts";
import { FRAMES, pcap, TUNNELS, UNJUDGED } from "../cli/tests/pure/captures.ts";
import type { Outcome } from "../tests/hosts/expected.ts";
import { inProjectOptions } from "./guest/run.ts";
import { stdArguments } from "./host/jsr.ts";
import { inProject, out } from "./host/paths.ts";
import { faultOf } from "./hosts/judge.ts";
import { compareExplained } from "../cli/tests/explained.ts";
import { decode, type Packet, TSHARK } from "./hosts/packets.ts";
import { complaints } from "./tests/kernel_log.ts";
import { tool } from "./host/tool.ts";

const HELP = `Runs the cases of tests/hosts on two guests that share a network.

  deno task long hosts [OPTIONS]

tshark decodes the packets: they must be those that were posted. They stay in out/hosts.

  --messages N    how many messages each case sends, 8 or more; 8
  --filter TEXT   only cases whose name has that text
`;

/** So many show every length of a message. */
const LEAST_MESSAGES = 8;
/** A run that hangs is ended; each message may take a second of that time. */
const SECONDS = 600;
const SECONDS_PER_MESSAGE = 1;

const folder = `${out}/hosts`;
const reportFile = `${folder}/report.jsonl`;
const captureFile = `${folder}/packets.pcap`;
const rareFile = `${folder}/rare.pcap`;
const DIFFERENCES_SHOWN = 20;

/** The second host ends in the last case, and with it its command. */
const STOPPED = 137;

await tool(HELP, { filter: text, messages: positive }, async (options) => {
  const messages = options.messages ?? LEAST_MESSAGES;
  if (messages < LEAST_MESSAGES) {
    throw new SetupError(`--messages takes a number from ${LEAST_MESSAGES}, not ${messages}`);
  }
  const start = performance.now();
  await ensurePackages([TSHARK]);
  await ensureGuest();
  const problems = await runGuests(messages, options.filter ?? "");
  const { cases, outcomes } = readReport();
  const packets = exists(captureFile) ? await decode(captureFile) : [];
  const failed = outcomes.filter((outcome) => !isGood(outcome, packets)).length;
  const missing = cases - outcomes.length;
  if (missing > 0) problems.push(`${missing} of ${cases} cases did not end`);
  if (cases === 0) problems.push("no case was executed");
  problems.push(...await judgeExplain());
  for (const problem of problems) say(`error: ${problem}`);
  const arrived = outcomes.reduce((sum, outcome) => sum + outcome.messages, 0);
  const seconds = Math.round((performance.now() - start) / 1000);
  const figures = `${arrived} messages arrived, tshark decoded ${packets.length} datagrams`;
  const failures = failed + missing + (missing > 0 ? 0 : problems.length);
  console.log(
    `\n${outcomes.length - failed} passed, ${failures} failed; ${figures}, ${seconds} s`,
  );
  return failures === 0 ? 0 : 1;
});

/** How `cli explain` differs from tshark: in the packets of the hosts, and in frames of rarer headers. */
async function judgeExplain(): Promise<string[]> {
  const tunnels = Object.entries(TUNNELS).filter(([name]) => !UNJUDGED.includes(name));
  await Deno.writeFile(rareFile, pcap([...FRAMES, ...tunnels.map(([, frame]) => frame)]));
  const problems: string[] = [];
  for (const file of [captureFile, rareFile].filter(exists)) {
    const { frames, differences } = await compareExplained(file);
    if (frames === 0) problems.push(`${file} has no frames`);
    console.log(`explain shows ${frames} frames of ${file}, ${differences.length} fields differ`);
    problems.push(...differences.slice(0, DIFFERENCES_SHOWN));
  }
  return problems;
}

/** Runs the program on both hosts. The result is what went wrong beside the cases. */
async function runGuests(messages: number, filter: string): Promise<string[]> {
  await Deno.mkdir(folder, { recursive: true });
  for (const { name } of Deno.readDirSync(folder)) await Deno.remove(`${folder}/${name}`);
  const std = await stdArguments();
  const programs = ["main", "victim"].map((name) => inProject(`tests/hosts/${name}.ts`));
  // Translated here, because that takes an emulated processor seconds.
  await capture(Deno.execPath(), "cache", "--quiet", ...std, ...programs);
  const program = ["deno", "run", "--allow-all", "--no-check", ...std, programs[0]!];
  const command = [...program, String(messages), reportFile, filter];
  const problems: string[] = [];
  const options = await inProjectOptions({
    capture: captureFile,
    memory: 2048,
    timeout: SECONDS + SECONDS_PER_MESSAGE * messages,
    onKernelLog: (log, host) =>
      problems.push(...complaints(log).map((line) => `the kernel of host ${host}: ${line}`)),
  });
  const [first, second] = await runOnTwoHosts([command, command], options);
  if (first !== 0) problems.push(`the first host ended with status ${first}`);
  if (second !== 0 && second !== STOPPED) {
    problems.push(`the second host ended with status ${second}`);
  }
  return problems;
}

/** The number of cases, and how those ended that did. */
function readReport(): { cases: number; outcomes: Outcome[] } {
  if (!exists(reportFile)) return { cases: 0, outcomes: [] };
  // A guest that ends in the middle may leave part of a line.
  const [head, ...outcomes] = Deno.readTextFileSync(reportFile).split("\n").slice(0, -1)
    .map((line) => JSON.parse(line));
  return { cases: head?.cases ?? 0, outcomes };
}

/** Whether both sides of a case and its packets are as they must be; the guest has shown what its sides found. */
function isGood({ name, problem, streams }: Outcome, packets: readonly Packet[]): boolean {
  const faults = streams.map((stream) => faultOf(stream, packets))
    .filter((fault) => fault !== undefined);
  // A case that failed has not posted all.
  if (problem === null) { for (const fault of faults) say(`FAILED ${name}: ${fault}`); }
  return problem === null && faults.length === 0;
}

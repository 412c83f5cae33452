/** How `doctor` shows what it found: the findings first, and below them each part of the host with its state. */

import type { Line, Style } from "../shell/terminal.ts";
import { alignColumns } from "../shell/text.ts";
import type { HostFacts, NetdevFacts, PortFacts } from "./facts.ts";
import type { Finding, Level } from "./finding.ts";
import type { PairFacts, Probe } from "./pair_facts.ts";
import { portName } from "./port_checks.ts";

const STYLES: Readonly<Record<Level | "ok", Style>> = {
  ok: "green",
  warning: "yellow",
  broken: "red",
};

/** The worst status among all findings, and what could not be examined. */
export function statusOf(
  findings: readonly Finding[],
  failure?: string,
): Level | "healthy" | "not examined" {
  const worst = findings[0]?.level;
  return worst !== "broken" && failure !== undefined ? "not examined" : worst ?? "healthy";
}

/** The page. `failure` is why the way to the other host could not be examined. */
export function pageOf(
  findings: readonly Finding[],
  facts: HostFacts,
  pair?: PairFacts,
  failure?: string,
): Line[] {
  const isWorse = ({ level }: Finding): boolean => level === "broken";
  const lines = [
    ...findings.filter(isWorse).map(findingLine),
    ...failure === undefined ? [] : [failureLine(failure, findings)],
    ...findings.filter((finding) => !isWorse(finding)).map(findingLine),
  ];
  return [
    ...lines.length === 0 ? [healthyLine(facts, pair)] : lines,
    "",
    ...partLines([...hostParts(findings, facts), ...pair === undefined ? [] : pairParts(pair)]),
  ];
}

function healthyLine({ seconds }: HostFacts, pair: PairFacts | undefined): Line {
  const good = pair === undefined
    ? "nothing is wrong on this host"
    : `messages reach ${pair.host} and come from there`;
  const watched = seconds === 0 ? "" : `, and no counter of errors rose here within ${seconds} s`;
  const limit = pair === undefined ? "; what a peer drops is counted there" : "";
  return [{ text: "healthy", style: "green" }, `: ${good}${watched}${limit}`];
}

function failureLine(failure: string, findings: readonly Finding[]): Line {
  const here = findings.length === 0 ? ". On this host nothing is wrong" : "";
  return [{ text: "not examined", style: "red" }, `: ${failure}${here}`];
}

function findingLine({ level, subject, problem, remedy }: Finding): Line {
  const text = `: ${subject}: ${problem}. Remedy: ${remedy}`;
  return [{ text: level, style: STYLES[level] }, text];
}

type Part = readonly [level: Level | "ok", subject: string, text: string];

function partLines(parts: readonly Part[]): Line[] {
  const rows = alignColumns(parts);
  return rows.map((row, i): Line => {
    const [level] = parts[i]!;
    return ["  ", { text: level, style: STYLES[level] }, row.slice(level.length)];
  });
}

function hostParts(findings: readonly Finding[], facts: HostFacts): Part[] {
  return partsOf(facts).map(([subject, text]): Part => {
    const found = findings.find((finding) => finding.subject === subject);
    return [found?.level ?? "ok", subject, text];
  });
}

function pairParts({ host, gids, out, in: back }: PairFacts): Part[] {
  const ways = [[`to ${host}`, gids?.there, out], [`from ${host}`, gids?.there, back]] as const;
  return ways.flatMap(([subject, gid, probes]) =>
    probes.map((probe): Part => [levelOf(probe), subject, probeText(probe, gid)])
  );
}

function levelOf({ sent, received, status }: Probe): Level | "ok" {
  if (received === 0 || status !== "SUCCESS") return "broken";
  return received < sent ? "warning" : "ok";
}

function probeText({ service, size, sent, received, status }: Probe, gid = ""): string {
  const result = sent === 0
    ? status
    : `${received} of ${sent} arrived${status === "SUCCESS" ? "" : `, ${status}`}`;
  return `${service}, ${size} bytes, ${gid}: ${result}`;
}

/** The parts that findings can be about, each with its state in a few words. */
function partsOf(facts: HostFacts): [subject: string, text: string][] {
  const { kernel, library, limits, files, devices } = facts;
  const namespaces = facts.namespaces === "shared" ? "share" : "do not share";
  const lacking = files.map(({ device }) => device)
    .filter((device) => !devices.some(({ name }) => name === device));
  return [
    ["kernel", `Linux ${kernel}, network namespaces ${namespaces} devices`],
    ["libibverbs", library.path ?? "none"],
    [
      "limits",
      `locked memory ${amount(limits.lockedMemory)}, open files ${amount(limits.openFiles)}`,
    ],
    ...lacking.map((device): [string, string] => [device, "not listed by libibverbs"]),
    ...devices.flatMap((device): [string, string][] =>
      device.ports.length === 0
        ? [[device.name, "not opened"]]
        : device.ports.map((port) => [portName(device, port), portText(port)])
    ),
  ];
}

function amount(limit: number | null): string {
  return limit === null ? "unlimited" : String(limit);
}

function portText({ state, isRoce, lid, mtu, netdevs, gid, errors }: PortFacts): string {
  const counted = Object.entries(errors).map(([name, value]) => `${name} ${value}`);
  return [
    state,
    isRoce ? "RoCE" : `LID ${lid}`,
    `MTU ${mtu}`,
    ...netdevs.map(netdevText),
    ...gid === null ? [] : [`GID ${gid.index}: ${gid.gid}`],
    ...counted.length === 0 ? [] : [`errors so far: ${counted.join(", ")}`],
  ].join(", ");
}

function netdevText({ name, isHere, isUp, mtu }: NetdevFacts): string {
  const state = !isHere ? "elsewhere" : isUp ? `up, MTU ${mtu}` : "down";
  return `${name} (${state})`;
}

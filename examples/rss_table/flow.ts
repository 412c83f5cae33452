/** Flows as text. */

import { parseAddress } from "@rdma/ibverbs";
import type { RssFlow } from "@rdma/ibverbs/rss";
import { UsageError } from "../support/program.ts";

interface End {
  readonly address: string;
  readonly port: number | undefined;
}

/**
 * Reads `10.0.0.1:1234 > 10.0.0.2:80 tcp`. Ports and protocol are optional. An IPv6 address with a port is in brackets.
 *
 * @throws {UsageError} If the text is not a flow.
 */
export function parseFlow(text: string): RssFlow {
  const [, from, to, protocol] = /^\s*(\S+)\s*>\s*(\S+?)(?:\s+(tcp|udp))?\s*$/i.exec(text) ?? [];
  if (from === undefined || to === undefined) throw notAFlow(text);
  const [source, destination] = [parseEnd(from, text), parseEnd(to, text)];
  if (protocol !== undefined && (source.port === undefined || destination.port === undefined)) {
    throw new UsageError(`"${text}" has a protocol, so it needs both ports`);
  }
  return {
    srcIp: source.address,
    dstIp: destination.address,
    protocol: protocol?.toLowerCase() as RssFlow["protocol"],
    srcPort: source.port,
    dstPort: destination.port,
  };
}

function parseEnd(text: string, flow: string): End {
  const match = /^\[(.+)\](?::(\d+))?$/.exec(text) ?? /^([^:]+)(?::(\d+))?$/.exec(text);
  const [, address = text, port] = match ?? [];
  if (Number(port ?? 0) > 0xffff) throw notAFlow(flow);
  try {
    parseAddress(address);
  } catch {
    throw notAFlow(flow);
  }
  return { address, port: port === undefined ? undefined : Number(port) };
}

function notAFlow(text: string): UsageError {
  return new UsageError(`"${text}" is not a flow such as "10.0.0.1:1234 > 10.0.0.2:80 tcp"`);
}

/** A flow as text. */
export function formatFlow(flow: RssFlow): string {
  const { srcIp, dstIp, srcPort, dstPort, protocol } = flow;
  const ends = [formatEnd(srcIp, srcPort), formatEnd(dstIp, dstPort)];
  return [ends.join(" > "), protocol].filter((part) => part !== undefined).join(" ");
}

function formatEnd(address: string | Uint8Array, port: number | undefined): string {
  const text = String(address);
  if (port === undefined) return text;
  return text.includes(":") ? `[${text}]:${port}` : `${text}:${port}`;
}

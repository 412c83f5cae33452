import { reasonOf } from "../../internal/texts.ts";
import { Gid, type QpAddress } from "../../mod.ts";
import { text, uint16, uint24, uint8 } from "../../internal/checks.ts";
import { oneOf, readOptions, type Rules, within } from "../../internal/options.ts";

/**
 * The address of one end of an RC connection: everything that the other end needs. It is plain data, so it can be sent
 * to the other process as JSON. Use it for one connection only.
 *
 * @category Connections
 */
export interface RcAddress {
  /** The transport: reliable connection. */
  readonly transport: "RC";
  /** The GID of the port as text, such as `"::ffff:10.0.0.1"`. `"::"` means none. */
  readonly gid: string;
  /** The LID of the port; 0 on RoCE. */
  readonly lid: number;
  /** The number of the queue pair, 24 bits. */
  readonly qpn: number;
  /** The packet sequence number of the first packet that this end sends, 24 bits. */
  readonly psn: number;
  /** The MTU of the port in bytes. */
  readonly mtu: number;
  /** The number of RDMA reads and atomics that this end serves at the same time. */
  readonly rdAtomic: number;
  /** The most messages that this end has receives for. It tells the peer in its messages how many there are. */
  readonly credits: number;
  /** The longest message in bytes that this end receives. */
  readonly maxMessage: number;
}

/** The largest number of credits: a message carries the number of new ones in 16 bits. */
export const MAX_CREDITS = 2 ** 15;
export const MAX_MESSAGE = 2 ** 24;

const RULES: Rules<RcAddress> = {
  transport: oneOf("RC"),
  gid: (value: string, what: string) => Gid.parse(text(value, what)).toString(),
  lid: uint16,
  qpn: uint24,
  psn: uint24,
  mtu: within(256, 4096),
  rdAtomic: uint8,
  credits: within(1, MAX_CREDITS),
  maxMessage: within(1, MAX_MESSAGE),
};

/** The part of an address that the connection manager does not know. */
export type RcOffer = Pick<RcAddress, "credits" | "maxMessage" | "mtu">;

const { credits, maxMessage, mtu } = RULES;

/**
 * Reads the address of a peer, which nobody has checked. Whether packets may be sent there is another check.
 *
 * @throws {Deno.errors.InvalidData} If it is not an address.
 */
export function readRcAddress(value: unknown): RcAddress {
  return read(value, RULES);
}

/** Reads the part of an address that a peer sends by the connection manager. */
export function readRcOffer(value: unknown): RcOffer {
  return read(value, { credits, maxMessage, mtu });
}

function read<T extends object>(value: unknown, rules: Rules<T>): T {
  try {
    return readOptions(value as T, rules, "address");
  } catch (error) {
    throw new Deno.errors.InvalidData(
      `Cannot connect: the address of the peer is not valid. ${reasonOf(error, "use address")}`,
      { cause: error },
    );
  }
}

export function toQpAddress({ gid, lid, qpn, psn, mtu, rdAtomic }: RcAddress): QpAddress {
  return { transport: "RC", qpn, psn, lid, gid, mtu, rdAtomic, qkey: null };
}

import { spinning } from "../../wait/busy_poll.ts";
import { checkSignal } from "../../wait/abort.ts";
import { milliseconds, text } from "../../internal/checks.ts";
import {
  millisecondsOrZero,
  oneOf,
  option,
  type Rules,
  type Settings,
  within,
} from "../../internal/options.ts";
import { FABRIC_RULES, type FabricOptions, type FabricSettings } from "../shared/fabric_options.ts";
import { MAX_CREDITS, MAX_MESSAGE } from "./rc_address.ts";

/**
 * Options of both ends of an RC connection.
 *
 * @category Connections
 */
export interface RcOptions extends FabricOptions {
  /** The name of the device. The default is the first device with an active port. */
  readonly device?: string | undefined;
  /** The port of the device, counted from 1. The default is 1. */
  readonly portNum?: number | undefined;
  /**
   * The index of the GID to use, 0 to 255. The default is the GID of the address that this end has in the TCP connection;
   * if the port does not have it, the recommended one of the port.
   */
  readonly gidIndex?: number | undefined;
  /**
   * The index of the P_Key in the table of the port, 0 to 65535. The default is 0, which on Ethernet is the only one.
   * Ends in different partitions cannot communicate.
   */
  readonly pkeyIndex?: number | undefined;
  /**
   * Which GID a peer may name when addresses are exchanged over TCP:
   *
   * - `"tcp"`, the default: the address that the peer has in the TCP connection. A peer on this host may name any GID of
   *   the port.
   * - `"any"`: any GID of one port. Use it where TCP and RDMA have different addresses, as hosts with several networks and
   *   InfiniBand do, and only if you trust all who can reach the TCP port: they can make this host send packets to a host
   *   of their choice.
   *
   * GIDs of multicast, of broadcast and of no host are never permitted.
   */
  readonly peerGid?: "tcp" | "any" | undefined;
  /**
   * The most messages that the peer may send before this end receives them, 1 to 32768. The default is 32. A connection
   * that is idle has registered memory for one message, of `maxMessage` bytes. When messages come it gets memory for
   * more, and lets the peer send more.
   */
  readonly credits?: number | undefined;
  /** The number of sends, writes, reads and atomics that may be in progress, at least 1. The default is 32. */
  readonly sendDepth?: number | undefined;
  /** The longest message in bytes that this end sends or receives, up to 16 MiB. The default is 32768. */
  readonly maxMessage?: number | undefined;
  /**
   * Time to wait for an acknowledgement, as an exponent 1 to 31: 4.096 us * 2^ackTimeout. The default is 17, which is
   * 537 ms. It is `timeout` of `QpAttr`, whose names are those of C.
   */
  readonly ackTimeout?: number | undefined;
  /**
   * The number of retries after that time, 0 to 7. The default is 6. Then the connection is broken. Soft-RoCE retries
   * forever if it is 7.
   */
  readonly retryCnt?: number | undefined;
  /**
   * After this many milliseconds in which nothing was sent, the connection checks that the peer is there. The default
   * is 1000; 0 means never: then an end that only receives does not notice that the peer is gone. With `port` the
   * kernel of the peer reports at once that its program has ended. Otherwise, or if the host has gone, `ackTimeout` and
   * `retryCnt` follow the check: with the defaults it takes about ten seconds on soft-RoCE.
   */
  readonly keepAlive?: number | undefined;
  /**
   * How long a call that waits polls before it sleeps, in microseconds from 0 to 1000. The default is 200; 0 means that
   * it sleeps at once. Polling saves the time of waking up, but this thread does nothing else meanwhile. It adapts: as
   * long as polling finds nothing, only one call in a thousand polls.
   */
  readonly spinMicroseconds?: number | undefined;
  /**
   * The time in milliseconds that connecting may take, with the exchange of addresses. The default is 15000. A listener gives
   * up a peer that needs longer.
   */
  readonly connectTimeout?: number | undefined;
  /** Ends the attempt to connect. A connection that is made stays open. */
  readonly signal?: AbortSignal | undefined;
}

/** Options with all defaults. */
export type RcSettings =
  & Settings<Omit<RcOptions, keyof FabricOptions>, "device" | "gidIndex" | "signal">
  & FabricSettings;

/** How `RcOptions` are checked, and their defaults. */
export const RC_RULES: Rules<RcSettings> = {
  device: option(text, undefined),
  portNum: option(within(1, 255), 1),
  gidIndex: option(within(0, 255), undefined),
  pkeyIndex: option(within(0, 0xffff), 0),
  peerGid: option(oneOf("tcp", "any"), "tcp"),
  credits: option(within(1, MAX_CREDITS), 32),
  sendDepth: option(within(1, MAX_CREDITS), 32),
  maxMessage: option(within(8, MAX_MESSAGE), 32768),
  ackTimeout: option(within(1, 31), 17),
  retryCnt: option(within(0, 7), 6),
  keepAlive: option(millisecondsOrZero, 1000),
  spinMicroseconds: spinning,
  ...FABRIC_RULES,
  connectTimeout: option(milliseconds, 15_000),
  signal: option(checkSignal, undefined),
};

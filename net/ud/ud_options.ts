import { spinning } from "../../wait/busy_poll.ts";
import { type AbortOptions, checkSignal } from "../../wait/abort.ts";
import { boolean, callable, integer, snapshot, text } from "../../internal/checks.ts";
import { UDP_QKEY } from "../../internal/cm_numbers.ts";
import {
  option,
  readOptions,
  type Rules,
  type Settings,
  warn,
  within,
} from "../../internal/options.ts";
import { FABRIC_RULES, type FabricOptions, type FabricSettings } from "../shared/fabric_options.ts";

/**
 * Options of `listenUd`.
 *
 * @category Datagrams
 */
export interface UdOptions extends FabricOptions {
  /** The name of the device. The default is the first device with an active port. */
  readonly device?: string | undefined;
  /** The port of the device, counted from 1. The default is 1. */
  readonly portNum?: number | undefined;
  /**
   * The qkey, 32 bits. The device drops datagrams with another qkey. The default is 0x01234567, which all sockets
   * have that find each other by address.
   */
  readonly qkey?: number | undefined;
  /**
   * The port at which peers find the socket by the address of this host, with `UdConn.lookup` or with librdmacm in
   * C; 0 is any free one. They get the number of its queue pair. If it is left out, peers do not find it by address. It
   * is found at all addresses of its device, and no other program of this host can use the port. It needs librdmacm,
   * and the default of `qkey`.
   */
  readonly port?: number | undefined;
  /** The index of the GID to send from, 0 to 255. The default is the recommended one: see `UdConn.gidReason`. */
  readonly gidIndex?: number | undefined;
  /**
   * The number of receives that are posted at any time, at least 1. The default is 512. A datagram that comes when all of
   * them are used is lost, and `UdStats` cannot count it: the device drops it. Receives are posted again when
   * datagrams are read from the device, for which the event loop has to run: all that are missing, as soon as that is one in 32.
   */
  readonly recvDepth?: number | undefined;
  /** The number of sends that may be in progress, at least 1. The default is 128. */
  readonly sendDepth?: number | undefined;
  /**
   * The index of the P_Key in the table of the port, 0 to 65535. The default is 0, which on Ethernet is the only one.
   * Ends in different partitions cannot communicate.
   */
  readonly pkeyIndex?: number | undefined;
  /**
   * The number of received datagrams that may wait for `receive()`, at least 1. The default is 512. If there are more, the
   * oldest one is dropped and counted. Each one has registered memory for the longest message.
   */
  readonly maxQueued?: number | undefined;
  /**
   * The number of peers whose address handles are kept, at least 1. The default is 1024. On a device whose packets have
   * no GRH it is at least `recvDepth`: received datagrams identify their senders by these handles.
   */
  readonly maxPeers?: number | undefined;
  /**
   * How long a call that waits polls before it sleeps, in microseconds from 0 to 1000. The default is 200; 0 means that
   * it sleeps at once. Polling saves the time of waking up, but this thread does nothing else meanwhile. It adapts: as
   * long as polling finds nothing, only one call in a thousand polls.
   */
  readonly spinMicroseconds?: number | undefined;
  /**
   * It is called once for each outage: a request has failed, and the socket has reset its queue pair and continues.
   * An outage ends when something is sent or received again. The default writes a warning to the console.
   */
  readonly onOutage?: ((error: Error) => void) | undefined;
  /** Closes the socket when it aborts. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Options of `UdConn.join`.
 *
 * @category Datagrams
 */
export interface JoinOptions extends AbortOptions {
  /**
   * Whether only the device joins (`ibv_attach_mcast`), and neither the host nor the switches learn of it. The default is
   * `false`. It is for groups that librdmacm cannot join, such as those of IPv6 over RoCE.
   *
   * Then on RoCE the host drops the packets of the group, also those of its own programs, unless something else has
   * joined it: `ip addr add 239.1.2.3/32 dev eth0 autojoin`.
   */
  readonly deviceOnly?: boolean | undefined;
  /** With `deviceOnly` on InfiniBand: the LID of the group, 0 to 65535. The default is 0, as RoCE needs it. */
  readonly lid?: number | undefined;
}

/** Reads and checks the options of `UdConn.join`. */
export function readJoinOptions(options: JoinOptions = {}): {
  readonly signal: AbortSignal | undefined;
  readonly deviceOnly: boolean;
  readonly lid: number;
} {
  const given = snapshot(options, "options", ["signal", "deviceOnly", "lid"]);
  const { deviceOnly = false, lid = 0 } = given;
  const signal = checkSignal(given.signal);
  integer(lid, "lid", 0, 0xffff);
  if (!boolean(deviceOnly, "deviceOnly") && given.lid !== undefined) {
    throw new TypeError("Cannot use lid: it is for deviceOnly; librdmacm finds the LID of a group");
  }
  return { signal, deviceOnly, lid };
}

/** Options with all defaults. */
export interface UdSettings
  extends
    Settings<Omit<UdOptions, keyof FabricOptions>, "device" | "gidIndex" | "signal" | "port">,
    FabricSettings {}

const depth = within(1, 2 ** 20);

export const UD_RULES: Rules<UdSettings> = {
  device: option(text, undefined),
  portNum: option(within(1, 255), 1),
  qkey: option(within(0, 0xffff_ffff), UDP_QKEY),
  port: option(within(0, 0xffff), undefined),
  gidIndex: option(within(0, 255), undefined),
  pkeyIndex: option(within(0, 0xffff), 0),
  recvDepth: option(depth, 512),
  sendDepth: option(depth, 128),
  maxQueued: option(depth, 512),
  maxPeers: option(depth, 1024),
  spinMicroseconds: spinning,
  ...FABRIC_RULES,
  onOutage: option(callable<(error: Error) => void>, warn),
  signal: option(checkSignal, undefined),
};

/** Reads and checks the options of `listenUd`. The port and the GID are still to be checked with the device. */
export function readUdOptions(options: UdOptions): UdSettings {
  const settings = readOptions(options, UD_RULES);
  const { port, qkey } = settings;
  if (port === undefined || qkey === UDP_QKEY) return settings;
  throw new TypeError(
    `Cannot use qkey ${qkey} with port: who is found by address has 0x${
      UDP_QKEY.toString(16).padStart(8, "0")
    }`,
  );
}

import { option, readOptions, type Rules, within } from "../../internal/options.ts";
import { UD_RULES, type UdOptions, type UdSettings } from "../ud/ud_options.ts";

/**
 * Options of `listenSrd`.
 *
 * @category Datagrams
 */
export interface SrdOptions extends Omit<UdOptions, "trafficClass" | "port" | "qkey"> {
  /** The qkey, 32 bits. The device drops datagrams with another qkey. */
  readonly qkey: number;
  /** The name of the device. The default is the first Elastic Fabric Adapter. */
  readonly device?: string | undefined;
  /**
   * The number of received messages that may wait for `receive()` while all `recvDepth` receives stay posted, at least 1. The
   * default is 512. None is dropped: where more wait than `maxQueued` and `recvDepth` together, their senders wait. Each one
   * has registered memory for the longest message.
   */
  readonly maxQueued?: number | undefined;
  /**
   * How often a send is tried again if the peer has no receive, 0 to 7. The default is that of the device: 7, which is
   * infinite.
   */
  readonly rnrRetry?: number | undefined;
  /**
   * The service level of the queue pair, 0 to 15: 8 is for low latency. The default is 0. With an older libefa any
   * other one fails with EINVAL. The adapters have no traffic class.
   */
  readonly sl?: number | undefined;
}

/** Options with all defaults. */
export interface SrdSettings extends UdSettings {
  readonly rnrRetry: number | undefined;
}

const { trafficClass: _, port: _port, ...COMMON } = UD_RULES;

const RULES: Rules<Omit<SrdSettings, "trafficClass" | "port">> = {
  ...COMMON,
  qkey: within(0, 0xffff_ffff),
  rnrRetry: option(within(0, 7), undefined),
};

/** Reads and checks the options of `listenSrd`. The port is still to be checked with the device. */
export function readSrdOptions(options: SrdOptions): SrdSettings {
  return { ...readOptions(options, RULES), trafficClass: undefined, port: undefined };
}

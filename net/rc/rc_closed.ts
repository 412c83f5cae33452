/**
 * How a connection has ended: see `RcConn.closed`.
 *
 * @category Connections
 */
export interface RcClosed {
  /** Who has ended it: this end, the peer, or an error. */
  readonly reason: "closed here" | "closed by the peer" | "broken";
  /** What has broken it; `undefined` if one of the ends has closed it. */
  readonly error?: Error | undefined;
}

import { CmError, type CmId, type SocketAddress } from "../../cm.ts";
import { show } from "../../internal/checks.ts";
import { REASON_MS } from "../../internal/cm_reasons.ts";
import { Deadline } from "../../wait/deadline.ts";
import { Mtu, mtuBytes, QpState, VerbsError } from "../../mod.ts";
import type { FoundEnds } from "./peer_gid.ts";
import type { RcAddress, RcOffer } from "./rc_address.ts";

const GONE =
  "The connection is broken: the peer has disconnected. Its program has ended, or it left without close()";

/** The addresses between which an id connects, as both sides have stated them. */
export function endsOfId({ localAddr, peerAddr }: CmId): FoundEnds {
  const [local, remote] = [textOf(localAddr!), textOf(peerAddr!)];
  const [localPort, remotePort] = [localAddr!.port, peerAddr!.port];
  return { local, localPort, remote, remotePort, via: "cm" };
}

function textOf({ hostname, scopeId = 0 }: SocketAddress): string {
  return scopeId === 0 ? hostname : `${hostname}%${scopeId}`;
}

/**
 * The address of the peer of an id, which has stated the rest itself. Whether packets may be sent there is another
 * check.
 *
 * @throws {Deno.errors.InvalidData} If it is not an address.
 * @throws {Deno.errors.ConnectionReset} If the connection has ended.
 */
export async function addressOf(
  id: CmId,
  offer: RcOffer,
  signal: AbortSignal,
): Promise<RcAddress> {
  return await orReset(id, signal, () => {
    const { ahAttr, destQpNum, rqPsn, pathMtu } = id.initQpAttr(QpState.RTR);
    const { maxRdAtomic } = id.initQpAttr(QpState.RTS);
    const [gid, lid] = [ahAttr!.grh!.dgid.toString(), ahAttr!.dlid!];
    const numbers = { qpNum: destQpNum!, psn: rqPsn!, rdAtomic: maxRdAtomic! };
    // The request has the MTU of the path as its sender knows it, who does not know that of this port.
    const mtu = Math.min(bytesOf(pathMtu!), offer.mtu);
    return { transport: "RC", gid, lid, ...numbers, ...offer, mtu };
  });
}

function bytesOf(code: Mtu): number {
  if (code >= 1 && code <= 5) return mtuBytes(code);
  throw new Deno.errors.InvalidData(
    `Cannot connect: the address of the peer is not valid. Its mtu has the code ${show(code)}, ` +
      "which is none from 1 (256 bytes) to 5 (4096 bytes)",
  );
}

/** The largest MTU that is within this many bytes. */
export function mtuWithin(bytes: number): Mtu {
  const codes = Object.values(Mtu).filter((code) => mtuBytes(code) <= bytes);
  return Math.max(...codes) as Mtu;
}

/** Does a step of a connection that exists. If it has ended, the error says why. */
export async function orReset<T>(
  id: CmId,
  signal: AbortSignal,
  step: () => T | Promise<T>,
): Promise<T> {
  try {
    return await step();
  } catch (error) {
    if (error instanceof CmError) throw resetBy(error);
    if (!(error instanceof VerbsError)) throw error;
    using deadline = new Deadline(REASON_MS, () => error, [signal]);
    try {
      await id.disconnected({ signal: deadline.signal });
    } catch (cause) {
      throw cause instanceof CmError ? resetBy(cause) : error;
    }
    throw new Deno.errors.ConnectionReset(GONE, { cause: error });
  }
}

/** Whether the connection of an id has ended. */
export function hasEnded({ state }: CmId): boolean {
  return ["DISCONNECTED", "FAILED", "REMOVED"].includes(state);
}

/** The error of a connection that has ended. */
export function resetBy(cause?: Error): Error {
  return cause === undefined
    ? new Deno.errors.ConnectionReset(GONE)
    : new Deno.errors.ConnectionReset(cause.message, { cause });
}

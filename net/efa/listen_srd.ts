import { isEfa } from "../../internal/efa.ts";
import { noted } from "../../internal/left_open.ts";
import { paced } from "../../wait/paced.ts";
import { inTurn } from "../../wait/turns.ts";
import { listDevices } from "../../mod.ts";
import { openUd, type UdConn } from "../ud/ud_conn.ts";
import { makeSrdEndpoint } from "./endpoint.ts";
import { readSrdOptions, type SrdOptions, type SrdSettings } from "./srd_options.ts";

/**
 * Opens a connection for reliable datagrams (SRD), which only Elastic Fabric Adapters have. Each message arrives once,
 * in any order, and `UdConn.send` resolves when it has arrived.
 *
 * It needs libefa. It is tested on adapters that a kernel module simulates, and never on hardware.
 *
 * @example Report what has arrived
 * ```ts
 * import { listenSrd, type UdAddress } from "@rdma/ibverbs/net";
 *
 * async function deliver(messages: readonly Uint8Array[], to: UdAddress): Promise<void> {
 *   await using conn = await listenSrd({ qkey: 0x1111_1111 });
 *   const signal = AbortSignal.timeout(10_000);
 *   const ends = await Promise.allSettled(messages.map((message) => conn.send(message, to, { signal })));
 *   console.log(ends.filter(({ status }) => status === "fulfilled").length, "messages have arrived");
 * }
 * ```
 *
 * @throws {Deno.errors.NotSupported} If the device is no Elastic Fabric Adapter, or the host has none.
 * @throws {Deno.errors.NotFound} If there is no such device, or no libefa. The message names the package that has it.
 * @throws {TypeError} If an option has the wrong type or is unknown.
 * @throws {RangeError} If a number is out of range, or the device has no such port.
 * @throws {VerbsError} If the device refuses; EOPNOTSUPP if it does not report the GIDs of unknown senders.
 * @throws The reason of the signal, if it has aborted.
 *
 * @experimental It has only run on a stub adapter, and on no hardware.
 * @category Datagrams
 */
export async function listenSrd(options: SrdOptions): Promise<UdConn> {
  return await noted(inTurn(() => {
    const settings = readSrdOptions(options);
    return paced(() =>
      openUd(settings, {
        deviceName: () => deviceOf(settings),
        endpoint: (device) => makeSrdEndpoint(device, settings),
      })
    );
  }));
}

/**
 * The name of the device to open.
 *
 * @throws {Deno.errors.NotSupported} If it has no reliable datagrams.
 */
function deviceOf({ device }: SrdSettings): string | undefined {
  const found = listDevices().find((one) =>
    device === undefined ? isEfa(one) : one.name === device
  );
  // Opening it reports that there is none of that name.
  if (found === undefined ? device !== undefined : isEfa(found)) return found?.name ?? device;
  const lacking = device === undefined ? "this host has" : `${device} is`;
  throw new Deno.errors.NotSupported(
    `Cannot listen for reliable datagrams (SRD): ${lacking} no Elastic Fabric Adapter, and no other device has them. ` +
      "listenUd() has datagrams that can be lost, listenRc() reliable connections",
  );
}

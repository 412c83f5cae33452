import { type DrivenDevice, ProviderTable } from "../../internal/provider_table.ts";
import { causeOf, type Causes } from "../core/causes.ts";

/** What is true of the devices of a provider, and not of others. */
export interface ProviderFacts {
  /** Why a port has no better GID than the recommended one. */
  readonly gidReason?: string | undefined;
  /** Why the device refuses what other devices have: an address without a GRH, a queue pair, a shared receive queue. */
  readonly causes?: { readonly [what in Refused]?: Causes | undefined } | undefined;
}

type Refused = "addressWithoutGrh" | "queuePair" | "sharedReceiveQueue";

export const providerFacts: ProviderTable<ProviderFacts> = new ProviderTable();

/** Why a device refuses something, if its provider is unlike the others. */
export function providerCause(
  device: DrivenDevice,
  what: Refused,
  code: string,
): string | undefined {
  return causeOf(providerFacts.of(device)?.causes?.[what] ?? [], code, {});
}

import { type DrivenDevice, ProviderTable } from "../../internal/provider_table.ts";
import { causeOf, type Causes } from "../core/causes.ts";

/** What the devices of a provider are asked in place of others. */
export interface ProviderFacts {
  /** Why a port has no better GID than the recommended one. */
  readonly gidReason: string;
  /** Why the device refuses what other devices have: an address without a GRH, a queue pair, a shared receive queue. */
  readonly causes: Readonly<
    Record<"addressWithoutGrh" | "queuePair" | "sharedReceiveQueue", Causes>
  >;
}

export const providerFacts: ProviderTable<ProviderFacts> = new ProviderTable();

/** Why a device refuses something, if its provider is unlike the others. */
export function providerCause(
  device: DrivenDevice,
  what: keyof ProviderFacts["causes"],
  code: string,
): string | undefined {
  const facts = providerFacts.of(device);
  return facts && causeOf(facts.causes[what], code, {});
}

/** The providers that differ from others, a row each. Modules that export `Context` import this one. */

import { providerFacts } from "./device/provider_facts.ts";
import { EFA } from "./efa/provider.ts";
import type { Provider } from "./provider.ts";
import { senderMakers } from "./reply/senders.ts";

export const PROVIDERS: readonly Provider[] = [EFA];

for (const provider of PROVIDERS) {
  const { drives, senders } = provider;
  providerFacts.add(drives, provider);
  if (senders !== undefined) senderMakers.add(drives, senders);
}

import type { Drives } from "../internal/provider_table.ts";
import type { ProviderFacts } from "./device/provider_facts.ts";
import type { MakeSenders } from "./reply/senders.ts";

/**
 * What a provider does differently than others: what is left out is as everywhere. Its queue pairs and completion queues, if
 * they differ, have classes of their own, which say how by `QpProvider` and `CqExProvider`.
 */
export interface Provider extends ProviderFacts {
  readonly drives: Drives;
  /** Who has sent a message. */
  readonly senders?: MakeSenders | undefined;
  /** Opens a library of the provider's own and binds its functions. It throws if the host lacks it. */
  readonly bind?: (() => void) | undefined;
}

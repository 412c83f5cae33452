import type { Drives } from "../internal/provider_table.ts";
import type { ProviderFacts } from "./device/provider_facts.ts";
import type { MakeSenders } from "./reply/senders.ts";

/**
 * What a provider does differently than others. Its queue pairs and completion queues, if they differ, have classes of their
 * own, which say how by `QpProvider` and `CqExProvider`.
 */
export interface Provider extends ProviderFacts {
  readonly drives: Drives;
  /** Who has sent a message. */
  readonly senders: MakeSenders;
  /** Opens the provider's library and binds its functions. It throws if the host lacks it. */
  readonly bind: () => void;
}

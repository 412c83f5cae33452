import type { Drives } from "../internal/provider_table.ts";
import type { ProviderFacts } from "./device/provider_facts.ts";
import type { MakeSenders } from "./reply/senders.ts";

/**
 * What a provider does differently from others. What is left out is the same. If its queue pairs and completion queues
 * differ, they have classes of their own, which use `QpProvider` and `CqExProvider`.
 */
export interface Provider extends ProviderFacts {
  readonly drives: Drives;
  /** Finds out who has sent a message. */
  readonly senders?: MakeSenders | undefined;
  /** Opens a library of the provider and binds its functions. It throws if the host lacks it. */
  readonly bind?: (() => void) | undefined;
}

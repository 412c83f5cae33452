import { type CmId, EventChannel } from "../../cm.ts";
import { partOf } from "../../internal/left_open.ts";
import { Use } from "../shared/use.ts";

/** The channel of the ids of all connections, while there are some. */
let shared: { readonly channel: EventChannel; users: number } | undefined;

function useShared(): Use {
  const own = shared ??= { channel: openChannel(), users: 0 };
  return new Use(own, () => {
    own.channel.close();
    // A use that is over can be ended again, when there is a new channel.
    if (shared === own) shared = undefined;
  });
}

function openChannel(): EventChannel {
  const channel = partOf(new EventChannel());
  // Who reads or sends keeps the program alive, and not who waits for the end of a connection.
  channel.unref();
  // If reading fails, the connections learn it too.
  dropOthers(channel).catch(() => {});
  return channel;
}

/** Takes the events that no step of an id waits for. The channel would keep them until the id is closed. */
async function dropOthers(channel: EventChannel): Promise<void> {
  for await (const _ of channel);
}

/**
 * The event channel of the id of a connection, and the id: closing the one closes the other. At first it is one of its own,
 * whose waits keep the program alive. When it is connected, all connections share one: thousands of them need no descriptor.
 */
export class CmChannel implements Disposable {
  readonly #id: CmId;
  #channel: Disposable;

  constructor(id: CmId) {
    this.#id = id;
    this.#channel = id.channel;
  }

  /** Moves the id to the channel of all. */
  share(): void {
    using stack = new DisposableStack();
    const use = stack.use(useShared());
    this.#id.migrate(shared!.channel);
    stack.move();
    const own = this.#channel;
    this.#channel = use;
    own[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    this.#id.close();
    this.#channel[Symbol.dispose]();
  }
}

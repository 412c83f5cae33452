/** Two processes, of this library or of pyverbs, that play as ib_send_lat does. */

import { pinned, type Test } from "./perftest.ts";
import { Contender } from "../process.ts";

export class ConnectionPair {
  readonly #server: Contender;
  readonly #client: Contender;

  private constructor(command: readonly string[]) {
    this.#server = new Contender("server", [...pinned("server"), ...command]).unref();
    this.#client = new Contender("client", [...pinned("client"), ...command]).unref();
  }

  /** Starts two processes of a command, and connects them. */
  static async start(command: readonly string[]): Promise<ConnectionPair> {
    const pair = new ConnectionPair(command);
    const ends = [pair.#server, pair.#client] as const;
    const [server, client] = await Promise.all([ends[0].line(), ends[1].line()]);
    await Promise.all([ends[0].tell(client), ends[1].tell(server)]);
    await Promise.all(ends.map((end) => end.line()));
    return pair;
  }

  /** Nanoseconds of half a round trip: the median. */
  async run({ size, count }: Test): Promise<number> {
    await this.#server.tell("server", size, count);
    await this.#server.line();
    await this.#client.tell("client", size, count);
    const [, { value }] = await Promise.all([this.#server.sample(), this.#client.sample()]);
    return value;
  }
}

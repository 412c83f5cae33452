/** What an end of two processes does. */
export abstract class Echo {
  /** What the other end connects to: one word. */
  abstract readonly address: string | number;
  abstract connect(remote: string): void | Promise<void>;
  /** Answers so many messages. */
  abstract serve(count: number): void | Promise<void>;
  /** Sends so many messages at a time, and awaits their answers. */
  protected abstract exchange(window: number): void | Promise<void>;

  /** Sends so many messages. Returns the line of a sample. */
  async play(count: number, window: number): Promise<string> {
    const taken = new Float64Array(Math.ceil(count / window));
    for (let i = 0; i < taken.length; i++) {
      const start = performance.now();
      const exchanged = this.exchange(window);
      // What polls gives no promise, and needs no turn of the event loop.
      if (exchanged !== undefined) await exchanged;
      taken[i] = (performance.now() - start) * 1e6 / window;
    }
    taken.sort();
    const at = (share: number): number => taken[Math.floor(taken.length * share)]!;
    return `${at(0.5)} p99=${at(0.99)}`;
  }
}

/** What pair.ts uses. */
export type Player = Pick<Echo, "address" | "connect" | "serve" | "play">;

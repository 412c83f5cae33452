/** What an end of two processes does. */
export interface Echo {
  /** What the other end connects to: one word. */
  readonly address: string | number;
  connect(remote: string): void | Promise<void>;
  /** Answers so many messages. */
  serve(count: number): void | Promise<void>;
  /** Sends so many messages, `window` at a time, and awaits their answers. Returns the line of a sample. */
  play(count: number, window: number): Promise<string>;
}

/** Plays by an exchange of so many messages and their answers. The time of what prepares one is not taken. */
export function exchanging(
  exchange: (window: number) => void | Promise<void>,
  prepare?: () => Promise<void>,
): Echo["play"] {
  return async (count, window) => {
    const taken = new Float64Array(Math.ceil(count / window));
    for (let i = 0; i < taken.length; i++) {
      // What polls gives no promise, and needs no turn of the event loop.
      if (prepare !== undefined) await prepare();
      const start = performance.now();
      const exchanged = exchange(window);
      if (exchanged !== undefined) await exchanged;
      taken[i] = (performance.now() - start) * 1e6 / window;
    }
    const mean = taken.reduce((sum, one) => sum + one, 0) / taken.length;
    taken.sort();
    const at = (share: number): number => taken[Math.floor(taken.length * share)]!;
    return `${at(0.5)} p99=${at(0.99)} mean=${mean}`;
  };
}

/** A server whose clients are other programs. */
export function serverOnly(address: Echo["address"], serve: Echo["serve"]): Echo {
  const play = (): never => {
    throw new Error("Cannot measure: it is a server only");
  };
  return { address, connect: () => {}, serve, play };
}

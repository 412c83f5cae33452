// A permission broker: Deno asks it for each permission by DENO_PERMISSION_BROKER_PATH, whatever flags say.

/** What Deno asks for, such as "ffi /usr/lib/libc.so.6"; "ffi all" for all libraries. */
export type Asked = `${string} ${string}`;

/** Answers an application: undefined allows it, a text denies it for that reason, an empty one without a reason. */
export type Decide = (asked: Asked) => string | undefined;

/** A line of JSON from Deno, which waits for a line with the same `id`. */
interface Application {
  readonly id: number;
  readonly permission: string;
  readonly value: string | null;
}

/** A broker that listens until it is disposed. */
export class Broker implements AsyncDisposable {
  /** What was asked for, in order. */
  readonly asked: Asked[] = [];
  readonly #decide: Decide;
  readonly #folder: string = Deno.makeTempDirSync();
  readonly #listener: Deno.UnixListener;
  readonly #serving: Promise<void>;

  constructor(decide: Decide = () => undefined) {
    this.#decide = decide;
    this.#listener = Deno.listen({ transport: "unix", path: `${this.#folder}/broker` });
    this.#serving = this.#serve();
  }

  /** The variable that makes Deno ask it. */
  get env(): Record<string, string> {
    return { DENO_PERMISSION_BROKER_PATH: `${this.#folder}/broker` };
  }

  async #serve(): Promise<void> {
    const conns: Promise<void>[] = [];
    for await (const conn of this.#listener) conns.push(this.#answerAll(conn));
    await Promise.all(conns);
  }

  async #answerAll(conn: Deno.UnixConn): Promise<void> {
    using _conn = conn;
    const decoder = new TextDecoder();
    const chunk = new Uint8Array(65_536);
    let text = "";
    for (let count; (count = await conn.read(chunk)) !== null;) {
      text += decoder.decode(chunk.subarray(0, count), { stream: true });
      const lines = text.split("\n");
      text = lines.pop()!;
      for (const line of lines) await conn.write(new TextEncoder().encode(this.#answer(line)));
    }
  }

  #answer(line: string): string {
    const { id, permission, value }: Application = JSON.parse(line);
    const asked: Asked = `${permission} ${value ?? "all"}`;
    this.asked.push(asked);
    const reason = this.#decide(asked);
    const answer = reason === undefined
      ? { id, result: "allow" }
      : { id, result: "deny", ...reason !== "" && { reason } };
    return `${JSON.stringify(answer)}\n`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    await this.#serving;
    await Deno.remove(this.#folder, { recursive: true });
  }
}

/** Messages by verbs. */

import { Context, type WorkCompletion } from "../../mod.ts";
import { Echo } from "./echo.ts";
import { End } from "./end.ts";

/** It polls, or waits by `waitSync()`. */
export class VerbsEcho extends Echo {
  readonly #sleeps: boolean;
  protected readonly end: End;
  /** Sends whose completions were not polled. */
  #unsent = 0;

  constructor(type: "UD" | "RC", sleeps: boolean) {
    super();
    this.#sleeps = sleeps;
    this.end = new End(Context.open(), type, !sleeps);
  }

  get address(): number {
    return this.end.qp.qpNum;
  }

  connect(remote: string): void {
    const { qp, recvs } = this.end.connect(Number(remote));
    for (let i = 0; i < 2; i++) qp.postRecv(recvs);
  }

  serve(count: number): void | Promise<void> {
    for (let done = 0; done < count;) {
      const n = this.#take();
      this.post(n);
      done += n;
    }
  }

  protected exchange(window: number): void | Promise<void> {
    this.post(window);
    for (let come = 0; come < window;) come += this.#take();
  }

  /** Waits for messages. Returns how many came, and posts as many receives. */
  #take(): number {
    const { recvCq, qp, recvs } = this.end;
    let n: number;
    while ((n = this.end.drain(recvCq)) === 0) if (this.#sleeps) recvCq.waitSync();
    qp.postRecv(recvs, 0, n);
    return n;
  }

  /** The completions of the messages before are there, or will be in a moment. */
  protected post(count: number): void {
    while (this.#unsent > 0) this.#unsent -= this.end.drain(this.end.sendCq);
    this.end.qp.postSend(this.end.sends, 0, count);
    this.#unsent = count;
  }
}

/** It waits by `completions()`. */
export class CompletionsEcho extends VerbsEcho {
  readonly #completions: AsyncIterator<WorkCompletion>;

  constructor() {
    super("UD", true);
    this.#completions = this.end.recvCq.completions()[Symbol.asyncIterator]();
  }

  override async serve(count: number): Promise<void> {
    for (let done = 0; done < count; done++) {
      await this.#take();
      this.post(1);
    }
  }

  protected override async exchange(window: number): Promise<void> {
    this.post(window);
    for (let come = 0; come < window; come++) await this.#take();
  }

  async #take(): Promise<void> {
    const { value } = await this.#completions.next();
    (value as WorkCompletion).check();
    this.end.qp.postRecv(this.end.recvs, 0, 1);
  }
}

// Calls from two Workers at once, and from a Worker that is ended.

import { silence } from "../../registry/recorder_device.ts";
import * as recorder from "../../../provider/recorder.ts";
import { attempt } from "../attempt.ts";
import { type Case, validCases } from "../cases.ts";
import type { ValidCalls } from "../valid_calls.ts";
import type { Answer, Order } from "./worker.ts";

/** How long a call takes at least where the Worker is ended in the middle of it. */
const DELAY_MS = 30;
/** A Worker whose thread is in a call ends when the call does. */
const AFTERMATH_MS = 2 * DELAY_MS;

/** The valid calls in Workers. */
export function workerCases(learned: ValidCalls): Case[] {
  return validCases().flatMap((valid) => {
    const name = valid.id.replace(/: valid$/, "");
    const { verbs } = learned[name]!;
    const slow = verbs.length === 0 ? [] : [[], verbs];
    return [fromTwo(name, valid), ...slow.map((verbs) => ended(name, valid, verbs))];
  });
}

let pair: readonly ExamWorker[] | undefined;

function fromTwo(name: string, { id }: Case): Case {
  return {
    id: `${name}: from two Workers`,
    what: "from two Workers",
    // The recorder ends its devices with the last list of them, whichever thread has another one.
    excused: / (device|list)\d+ is used after its end$/,
    run: async () => {
      pair ??= [new ExamWorker(), new ExamWorker()];
      const answers = await Promise.all(pair.map((worker) => worker.ask({ id, rounds: 10 })));
      const wrong = answers.flatMap(({ wrong }) => wrong);
      if (wrong.length > 0) throw new Error(wrong.join("; "));
    },
  };
}

/** What the Worker made is left: nobody can reach it any more, and the kernel frees it with the process. */
function ended(name: string, valid: Case, slow: readonly string[]): Case {
  const when = slow.length > 0 ? "in the middle of the call" : "between calls";
  return {
    id: `${name}: its Worker is terminated ${when}`,
    what: `its Worker is terminated ${when}`,
    leaves: true,
    // The Worker of the case before may still finish a call, after the recorder has forgotten its objects.
    excused: / is used after its end$/,
    run: async () => {
      const worker = new ExamWorker();
      await worker.ask({ id: valid.id, rounds: 1 });
      for (const verb of slow) recorder.delay(verb, DELAY_MS);
      await worker.ask({ id: valid.id, rounds: Infinity });
      worker.terminate();
      // The memory of the Worker is used by others while its call may still be in progress.
      const others = Array.from({ length: 64 }, () => new Uint8Array(256).fill(0x11));
      await silence(slow.length > 0 ? AFTERMATH_MS : 10);
      if (others.some((bytes) => bytes.some((byte) => byte !== 0x11))) {
        throw new Error("The ended Worker wrote into memory of others");
      }
      for (const verb of slow) recorder.delay(verb, 0);
      const { wrong } = await attempt(valid);
      if (wrong.length > 0) throw new Error(`In the main thread: ${wrong.join("; ")}`);
    },
  };
}

class ExamWorker {
  readonly #worker: Worker;
  readonly #ready: Promise<Answer>;

  constructor() {
    this.#worker = new Worker(new URL("worker.ts", import.meta.url), { type: "module" });
    // Messages that come before it listens are lost.
    this.#ready = this.#answer();
  }

  async ask(order: Order): Promise<Answer> {
    await this.#ready;
    const answer = this.#answer();
    this.#worker.postMessage(order);
    return await answer;
  }

  #answer(): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    this.#worker.onmessage = ({ data }) => resolve(data);
    this.#worker.onerror = (event) => {
      event.preventDefault();
      reject(new Error(`The Worker failed: ${event.message}`));
    };
    return promise;
  }

  terminate(): void {
    this.#worker.terminate();
  }
}

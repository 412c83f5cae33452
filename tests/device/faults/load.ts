import { assert } from "@std/assert";
import {
  AddressHandle,
  type AhAttrInit,
  type Context,
  EventType,
  Gid,
  nameOf,
  ProtectionDomain,
  QpState,
  QpType,
  ReplyPath,
  VerbsError,
  WcStatus,
} from "../../../mod.ts";
import { type End, ipv4Grh, makeEnd, PORT, QKEY, WITH_GRH } from "../setup.ts";
import { ADDRESS, slotOf } from "./doomed_link.ts";

const GID = Gid.parse(`::ffff:${ADDRESS}`);
const GRH = ipv4Grh(ADDRESS);
/** Sends that may be under way. */
const DEPTH = 32;

/**
 * Everything at once on one context: datagrams to itself, completions and events that are waited for, address handles
 * made here and on other threads, a reply path. Each outcome is counted by its name.
 */
export class Load {
  readonly context: Context;
  readonly pd: ProtectionDomain;
  readonly #end: End;
  readonly #path: ReplyPath;
  readonly #counts: Map<string, number> = new Map();
  readonly #waits: Promise<unknown>[];
  readonly #work: Promise<void>[];
  #attr: AhAttrInit;
  #ah: AddressHandle;
  #underWay = 0;
  #going = true;

  constructor(context: Context) {
    this.context = context;
    this.pd = new ProtectionDomain(context);
    this.#end = makeEnd(this.pd, QpType.UD);
    this.#end.qp.activateUd({ portNum: PORT, qkey: QKEY });
    this.#path = new ReplyPath(this.pd, { portNum: PORT });
    this.#attr = this.#self();
    this.#ah = new AddressHandle(this.pd, this.#attr);
    this.#waits = [this.#watchEvents(), this.#watchCompletions()];
    this.#work = [
      this.#repeat("send", () => this.#send()),
      this.#repeat(
        "create",
        async () => (await AddressHandle.createAsync(this.pd, this.#attr)).close(),
      ),
      this.#repeat("path", () => void this.#path.to(WITH_GRH, GRH)),
      this.#repeat("query", () => void context.queryDevice()),
    ];
  }

  /** How often something came out: `"send"`, `"create ENODATA"`, `"wc SUCCESS"`, `"event PORT_ERR"`. */
  count(outcome: string): number {
    return this.#counts.get(outcome) ?? 0;
  }

  /** What came out, without the numbers. */
  get outcomes(): string[] {
    return [...this.#counts.keys()].sort();
  }

  /** Waits until something has come out so many times more. */
  async more(outcome: string, times = 5): Promise<void> {
    const enough = this.count(outcome) + times;
    const end = Date.now() + 20_000;
    while (this.count(outcome) < enough) {
      assert(Date.now() < end, `"${outcome}" does not come: ${this.outcomes.join(", ")}`);
      await pause();
    }
  }

  /** Makes the queue pair and its address handle work again after a fault. */
  recover(): void {
    const { qp } = this.#end;
    qp.modify({ qpState: QpState.RESET });
    this.#underWay = 0;
    this.#ah.close();
    // An address may have come back in another slot.
    this.#attr = this.#self();
    this.#ah = new AddressHandle(this.pd, this.#attr);
    qp.activateUd({ portNum: PORT, qkey: QKEY });
  }

  /** Ends the work; the waits go on until the context is closed. */
  async stop(): Promise<void> {
    this.#going = false;
    await Promise.all(this.#work);
  }

  /** The errors that ended the waits, once the context is closed; `undefined` for those that the closing ended. */
  async ends(): Promise<unknown[]> {
    return await Promise.all(this.#waits);
  }

  #self(): AhAttrInit {
    const sgidIndex = slotOf(this.context)!;
    return { portNum: PORT, grh: { dgid: GID, sgidIndex, hopLimit: 64 } };
  }

  #add(outcome: string): void {
    this.#counts.set(outcome, this.count(outcome) + 1);
  }

  /** Does a piece of work again and again. It may fail as verbs fail, and in no other way. */
  async #repeat(what: string, work: () => void | Promise<void>): Promise<void> {
    while (true) {
      await pause();
      if (!this.#going || this.context.disposed) return;
      try {
        await work();
        this.#add(what);
      } catch (error) {
        if (this.context.disposed) return;
        assert(error instanceof VerbsError, String(error));
        this.#add(`${what} ${error.code}`);
      }
    }
  }

  #send(): void {
    if (this.#underWay >= DEPTH) return;
    const { qp, mr } = this.#end;
    const sge = mr.sge(0, 8);
    qp.postSend({ sge, ah: this.#ah, remoteQpn: qp.qpNum, remoteQkey: QKEY });
    this.#underWay++;
  }

  async #watchEvents(): Promise<unknown> {
    try {
      for await (const { eventType } of this.context.events()) {
        this.#add(`event ${nameOf(EventType, eventType)}`);
      }
    } catch (error) {
      return error;
    }
  }

  async #watchCompletions(): Promise<unknown> {
    try {
      for await (const { status } of this.#end.cq.completions()) {
        this.#underWay--;
        this.#add(`wc ${nameOf(WcStatus, status)}`);
      }
    } catch (error) {
      return error;
    }
  }
}

/** Lets everything else run: where the event loop stands still, nothing of the load goes on. */
function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 2));
}

// Reply paths while the device's addresses change: no handle that was made before a change is given out after it.
import { assert, assertEquals, assertGreater } from "@std/assert";
import { spy } from "@std/testing/mock";
import {
  type AddressHandle,
  ProtectionDomain,
  QpState,
  QpType,
  ReplyPath,
  VerbsError,
  WcStatus,
} from "../../../mod.ts";
import { verbs } from "../../../ffi/library.ts";
import { type MovingLink, movingLink } from "../moving_link.ts";
import { differs } from "../kernels.ts";
import { deviceTest, ipv4Grh, makeEnd, PORT, QKEY, until, waitFor, WITH_GRH } from "../setup.ts";

const FIRST = "10.8.0.1";
/** The handle for an address, or undefined where the path says that the device does not have it. */
function answer(path: ReplyPath, address: string): AddressHandle | undefined {
  return unlessGone(() => path.to(WITH_GRH, ipv4Grh(address)));
}

function unlessGone<T>(derive: () => T): T | undefined {
  try {
    return derive();
  } catch (error) {
    if (error instanceof VerbsError && error.verb === "ibv_init_ah_from_wc") return undefined;
    throw error;
  }
}

deviceTest("ReplyPath answers after its program has reset the queue pair", async () => {
  await using link = await movingLink();
  using pd = new ProtectionDomain(link.context);
  using path = new ReplyPath(pd, { portNum: PORT, maxPeers: 1 });
  const { qp, cq, mr } = makeEnd(pd, QpType.UD);
  const reply = (ah: AddressHandle): void =>
    qp.postSend({ sge: mr.sge(0, 8), ah, remoteQpn: qp.qpNum, remoteQkey: QKEY });
  qp.activateUd({ portNum: PORT, qkey: QKEY });
  await link.add(FIRST);
  const { LOC_QP_OP_ERR, WR_FLUSH_ERR } = WcStatus;
  const refused = differs("flushesFaultySends") ? WR_FLUSH_ERR : LOC_QP_OP_ERR;
  for (let i = 0; i < 5; i++) {
    const ah = answer(path, FIRST)!;
    await link.remove(FIRST);
    reply(ah);
    assertEquals((await waitFor(cq))[0]!.status, refused);
    // The completions of these do not come, and their handle goes nevertheless.
    using destroyed = spy(verbs(), "ibv_destroy_ah");
    reply(ah);
    qp.modify({ qpState: QpState.RESET });
    qp.activateUd({ portNum: PORT, qkey: QKEY });
    cq.poll(256);
    await link.add(FIRST);
    const next = answer(path, FIRST)!;
    assert(next !== ah);
    answer(path, FIRST);
    assertEquals([ah.disposed, destroyed.calls.length], [true, 1]);
    reply(next);
    assertEquals((await waitFor(cq))[0]!.status, WcStatus.SUCCESS);
  }
});

/** Checks one address: what the path gives must have been made since it came, for the slot it has. */
class Watcher {
  readonly #link: MovingLink;
  readonly #path: ReplyPath;
  readonly #address: string;
  /** Handles given out before the address last went. */
  readonly #old: Set<AddressHandle> = new Set();
  readonly #current: Set<AddressHandle> = new Set();
  #slot: number | undefined;
  readonly seen = { there: 0, gone: 0, returns: 0 };

  constructor(link: MovingLink, path: ReplyPath, address: string) {
    this.#link = link;
    this.#path = path;
    this.#address = address;
  }

  /** Looks at the table before and after, and judges only where nothing changed in between. */
  async check(): Promise<void> {
    const before = this.#find();
    // the kernel reports a change after it has made it: by then it has
    await new Promise((resolve) => setTimeout(resolve, 10));
    const ah = answer(this.#path, this.#address);
    const attr = unlessGone(() => this.#path.attr(WITH_GRH, ipv4Grh(this.#address)));
    const after = this.#find();
    if (before !== after) return this.#forget();
    if (after === undefined) {
      assertEquals(ah, undefined, `${this.#address} is answered by although it is gone`);
      this.seen.gone++;
      return this.#forget();
    }
    assert(ah !== undefined, `${this.#address} is not answered by although it is there`);
    assertEquals(attr?.grh.sgidIndex, after);
    assert(!this.#old.has(ah), `a handle for ${this.#address} outlived its address`);
    if (this.#current.size === 0 && this.#old.size > 0) this.seen.returns++;
    this.#current.add(ah);
    this.#slot = after;
    this.seen.there++;
  }

  #find(): number | undefined {
    return this.#link.slotOf(this.#address)?.gidIndex;
  }

  #forget(): void {
    if (this.#find() === this.#slot && this.#slot !== undefined) return;
    for (const ah of this.#current) this.#old.add(ah);
    this.#current.clear();
    this.#slot = undefined;
  }
}

deviceTest("ReplyPath.to() never gives a handle of an address that has gone", async () => {
  await using link = await movingLink();
  using pd = new ProtectionDomain(link.context);
  using path = new ReplyPath(pd, { portNum: PORT, maxPeers: 4 });
  const { qp, cq, mr } = makeEnd(pd, QpType.UD);
  qp.activateUd({ portNum: PORT, qkey: QKEY });
  await link.add(FIRST);
  const addresses = ["10.8.0.3", "10.8.0.4"];
  const watchers = addresses.map((address) => new Watcher(link, path, address));
  let going = true;
  async function look(what: "there" | "gone"): Promise<void> {
    const before = watchers.map(({ seen }) => seen[what]);
    await until(what, () => watchers.every(({ seen }, i) => seen[what] > before[i]!));
  }
  async function move(): Promise<void> {
    for (let round = 0; round < 12; round++) {
      for (const address of addresses) await link.add(address);
      await look("there");
      for (const address of addresses) await link.remove(address);
      await look("gone");
    }
    going = false;
  }
  async function load(): Promise<void> {
    const peers = [FIRST, ...addresses];
    for (let i = 0; going; i++) {
      // a completion that is there already is waited for without letting timers run
      await new Promise((resolve) => setTimeout(resolve, 0));
      const ah = answer(path, peers[i % peers.length]!);
      if (ah === undefined) continue;
      qp.postSend({ sge: mr.sge(0, 8), ah, remoteQpn: qp.qpNum, remoteQkey: QKEY });
      await waitFor(cq);
    }
  }
  async function watch(watcher: Watcher): Promise<void> {
    while (going) await watcher.check();
  }
  const moving = move().finally(() => going = false);
  await Promise.all([moving, load(), ...watchers.map(watch)]);
  for (const { seen } of watchers) {
    assertGreater(seen.there, 5);
    assertGreater(seen.gone, 5);
    assertGreater(seen.returns, 2);
  }
});

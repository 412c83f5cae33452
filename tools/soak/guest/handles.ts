/** Address handles, made in all ways, and addresses of the network device that come and go. */

import { AddressHandle, initAhFromWc, VerbsError } from "../../../mod.ts";
import { run as start } from "../../../tests/device/run.ts";
import { sysfs, until } from "../../../tests/device/setup.ts";
import { BURST_OF_HANDLES, USED_HANDLES } from "../plan.ts";
import { arrival, attrOf, paced, PORT, type Run } from "./run.ts";

/** Handles that wait for a datagram; those beyond it are disposed unused. */
const MAX_FRESH = 64;
/** They take more time than all else. */
const SLICE_MS = 150;

const WAYS: readonly ((run: Run, index: number) => AddressHandle)[] = [
  plain,
  (run, i) => AddressHandle.fromWc(run.pd, PORT, ...arrival(run, i)),
  plain,
  (run, i) => new AddressHandle(run.pd, initAhFromWc(run.context, PORT, ...arrival(run, i))),
];
/** One handle of so many is made on another thread: waking it costs as much as the call. */
const ASYNC_SHARE = 8;
/** Calls on other threads at a time. */
const MAX_PENDING = 16;
const ASYNC_WAYS: readonly ((run: Run, index: number) => Promise<AddressHandle>)[] = [
  (run, i) => AddressHandle.createAsync(run.pd, attrOf(run, i)),
  (run, i) => AddressHandle.fromWcAsync(run.pd, PORT, ...arrival(run, i)),
];

let kept = 0;

/** Makes handles, gives some to the datagrams, and closes the others. */
export async function makeHandles(run: Run, rate: number): Promise<void> {
  const pending = new Set<Promise<void>>();
  let made = 0;
  await paced(rate, BURST_OF_HANDLES, run.stop, async () => {
    for (let i = 0; i < BURST_OF_HANDLES; i++) {
      const index = made++;
      if (index % ASYNC_SHARE === 0) startAsync(run, index, pending);
      else keepOrDispose(run, wayOf(run, WAYS, index)(run, index));
      if (pending.size >= MAX_PENDING) await Promise.race(pending);
    }
    makeForMoving(run);
  }, SLICE_MS);
  await Promise.all(pending);
}

/** A call on another thread. Others are made meanwhile. */
function startAsync(run: Run, index: number, pending: Set<Promise<void>>): void {
  const way = wayOf(run, ASYNC_WAYS, index / ASYNC_SHARE);
  const call = way(run, index).then((ah) => keepOrDispose(run, ah));
  pending.add(call);
  // An error is that of the activity: the call stays in the set.
  call.then(() => pending.delete(call), () => {});
}

/** Until each sender has been heard, there is nothing to answer: the first way needs no datagram. */
function wayOf<T>({ arrivals, gids }: Run, ways: readonly T[], turn: number): T {
  return ways[arrivals.length === gids.length ? turn % ways.length : 0]!;
}

function keepOrDispose(run: Run, ah: AddressHandle): void {
  run.count("ahs");
  if (kept++ % USED_HANDLES === 0 && run.fresh.length < MAX_FRESH) run.fresh.push(ah);
  else ah.close();
}

/** The slot of an address that comes and goes: the call succeeds or is refused. */
function makeForMoving(run: Run): void {
  const { gid: dgid } = run.gids.find(({ gid }) => gid.isIpv4Mapped)!;
  try {
    using _ah = new AddressHandle(run.pd, {
      portNum: PORT,
      grh: { dgid, sgidIndex: run.gids.length, hopLimit: 64 },
    });
    run.count("ahsOfMoving");
  } catch (error) {
    if (!(error instanceof VerbsError)) throw error;
    run.count("ahsRefused");
  }
}

function plain(run: Run, index: number): AddressHandle {
  return new AddressHandle(run.pd, attrOf(run, index));
}

/** So many addresses take turns. */
const ADDRESSES = 4;

/** Adds and removes addresses, each time waiting until the GID table has changed. */
export async function changeAddresses(run: Run, rate: number): Promise<void> {
  const added = new Set<string>();
  const change = async (address: string): Promise<void> => {
    const action = added.has(address) ? "del" : "add";
    await start("ip", "addr", action, `${address}/32`, "dev", sysfs("parent"));
    const isThere = (): boolean =>
      run.context.gidTable(PORT).some(({ gid }) => `${gid}` === `::ffff:${address}`);
    await until(`the GID of ${address} after "${action}"`, () => isThere() === (action === "add"));
    if (!added.delete(address)) added.add(address);
    run.count("addressChanges");
  };
  let changes = 0;
  await paced(rate, 1, run.stop, () => change(`10.0.1.${1 + changes++ % ADDRESSES}`));
  for (const address of [...added]) await change(address);
}

// Datagrams while the address of the host goes and comes back.
import { assertEquals, assertGreater } from "@std/assert";
import { VerbsError } from "../../../mod.ts";
import { listenUd, type UdConn } from "../../../net/mod.ts";
import { repetitions } from "../../rare.ts";
import { type MovingLink, movingLink } from "../moving_link.ts";
import { deviceTest, PORT, QKEY, until } from "../setup.ts";

/** A lot of 20 flaps: some that the kernel does one after the other, and then one that waits for the GID to go. */
const QUICK = 19;
const MOST_LOTS = 10;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A connection that sends to a peer all the time, and takes what comes. */
class Busy implements AsyncDisposable {
  readonly outages: Error[] = [];
  rejected = 0;
  taken = 0;
  conn!: UdConn;
  #going = true;
  #running: Promise<unknown>[] = [];

  static async open(link: MovingLink, gidIndex?: number): Promise<Busy> {
    const busy = new Busy();
    const onOutage = (error: Error): void => void busy.outages.push(error);
    const device = link.context.device.name;
    const options = { device, qkey: QKEY, onOutage, sendDepth: 16, recvDepth: 64, maxQueued: 64 };
    busy.conn = await listenUd(gidIndex === undefined ? options : { ...options, gidIndex });
    return busy;
  }

  start(peer: Busy): void {
    this.#running = [this.#receive(), ...[1, 2, 3].map(() => this.#send(peer))];
  }

  async #send({ conn }: Busy): Promise<void> {
    while (this.#going) {
      try {
        await this.conn.send(new Uint8Array(100), conn.addr);
      } catch (error) {
        // There is no such address now, or no way to it.
        if (!(error instanceof VerbsError)) throw error;
        this.rejected++;
      }
      await pause(5);
    }
  }

  async #receive(): Promise<void> {
    for await (const _ of this.conn) this.taken++;
  }

  /** Waits until datagrams come again. */
  async works(): Promise<void> {
    const before = this.taken;
    await until("datagrams come", () => this.taken > before + 5);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#going = false;
    const [receiving, ...sending] = this.#running;
    // No send hangs.
    await Promise.all(sending);
    this.conn.close();
    await receiving;
    await this.conn[Symbol.asyncDispose]();
  }
}

/** Two connections that send to each other while something happens to their link, often. */
async function disturb(
  address: string,
  disturbance: (link: MovingLink, ends: readonly Busy[]) => Promise<void>,
): Promise<Busy[]> {
  await using link = await movingLink();
  await link.add(address);
  const { gidIndex } = link.slotOf(address)!;
  await using left = await Busy.open(link, gidIndex);
  await using right = await Busy.open(link, gidIndex);
  const ends = [left, right];
  const identities = (): unknown => ends.map(({ conn: { addr } }) => [addr.qpNum, addr.qkey]);
  const before = identities();
  left.start(right);
  right.start(left);
  for (const end of ends) await end.works();
  await disturbance(link, ends);
  await until("the address", () => left.conn.addr.gid === link.slotOf(address)?.gid.toString());
  for (const end of ends) await end.works();
  assertEquals(identities(), before);
  return ends;
}

const IPV4 = "10.8.0.1";
const IPV6 = "fd08::1";

for (const [address, lots] of [[IPV4, repetitions(1, 5)], [IPV6, 1]] as const) {
  deviceTest(
    `UdConn works on after ${20 * lots} or more flaps of its address ${address}`,
    async () => {
      const ends = await disturb(address, async (link, ends) => {
        // On a quick host the address may be back before anything was sent without it.
        const wasReset = (): boolean => ends.every(({ conn }) => conn.stats.resets > 0);
        for (let i = 0; i < lots || i < MOST_LOTS && !wasReset(); i++) {
          await link.flap(address, QUICK);
          await link.remove(address);
          await pause(20);
          await link.add(address);
          for (const end of ends) await end.works();
        }
        // An address that is gone stays in the table as long as a handle uses it.
        assertGreater(5, link.context.queryGidTable(PORT).length);
      });
      for (const { outages, conn: { stats } } of ends) {
        assertGreater(stats.resets, 0);
        assertGreater(stats.sendErrors, 0);
        assertGreater(outages.length, 0);
        assertGreater(stats.resets + 1, outages.length);
        assertEquals(stats.recvErrors, 0);
      }
    },
  );
}

deviceTest(
  "UdConn works on while its link goes down and up, and other GIDs come and go",
  async () => {
    await disturb(IPV4, async (link, ends) => {
      for (let i = 0; i < 5; i++) {
        await link.bounce();
        await link.add("10.7.0.9");
        await link.add("fd07::9");
        for (const end of ends) await end.works();
        await link.remove("10.7.0.9");
        await link.remove("fd07::9");
      }
    });
  },
);

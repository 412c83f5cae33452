/** The GID table of rxe0 in the guest, as rows need it. */

const NETDEV = "dummy0";
const GIDS = "/sys/class/infiniband/rxe0/ports/1/gids";

/** What a row needs of the table. */
export const PREPARATIONS: Readonly<Record<"manyGids", () => Promise<void>>> = {
  /** Beside those of the link-local and of the IPv4 address. */
  manyGids: async () => {
    await ip(addressesOf(198));
    await settle((gids) => gids.length === 200);
  },
};

/** Gives the port a GID for each of 32 peers: those that begin with fd. */
export async function addPeers(): Promise<void> {
  await ip(addressesOf(32));
  await settle((gids) => gids.filter((gid) => gid.startsWith("fd")).length >= 32);
}

function addressesOf(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `replace fd00::${(i + 1).toString(16)}/64`);
}

async function ip(changes: readonly string[]): Promise<void> {
  const batch = await Deno.makeTempFile();
  await Deno.writeTextFile(batch, changes.map((line) => `addr ${line} dev ${NETDEV}\n`).join(""));
  const { success } = await new Deno.Command("ip", { args: ["-batch", batch] }).spawn().status;
  await Deno.remove(batch);
  if (!success) throw new Error("Cannot change the GID table: ip failed");
}

/** A GID comes and goes a little later than its address. */
async function settle(isDone: (gids: readonly string[]) => boolean): Promise<void> {
  for (let i = 0; !isDone(gids()); i++) {
    if (i === 1000) throw new Error(`Cannot change the GID table: it has ${gids()}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Those that are used. */
function gids(): string[] {
  const all = [...Deno.readDirSync(GIDS)].map(({ name }) =>
    Deno.readTextFileSync(`${GIDS}/${name}`)
  );
  return all.filter((gid) => !/^[0:\s]*$/.test(gid));
}

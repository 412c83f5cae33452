/** The network device of rxe0 in the guest, as rows need it. */

const NETDEV = "dummy0";
const PORT = "/sys/class/infiniband/rxe0/ports/1";

/** The addresses that peers have: the port's GIDs that begin with fd. */
export const PEERS = 32;

/** Gives the port a GID for each of 32 peers. */
export async function addPeers(): Promise<void> {
  const names = Array.from({ length: PEERS }, (_, i) => `fd00::${(i + 1).toString(16)}/64`);
  await ip(names.map((name) => `addr replace ${name} dev ${NETDEV}`));
  await until(() => countPeers() >= PEERS, "the GIDs of peers");
}

async function ip(lines: readonly string[]): Promise<void> {
  const batch = await Deno.makeTempFile();
  await Deno.writeTextFile(batch, lines.map((line) => `${line}\n`).join(""));
  const { success } = await new Deno.Command("ip", { args: ["-batch", batch] }).spawn().status;
  await Deno.remove(batch);
  if (!success) throw new Error("Cannot measure: ip failed");
}

/** A GID comes a little later than its address. */
async function until(isDone: () => boolean, what: string): Promise<void> {
  for (let i = 0; !isDone(); i++) {
    if (i === 1000) throw new Error(`Cannot measure: ${what} do not come`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function countPeers(): number {
  const gids = [...Deno.readDirSync(`${PORT}/gids`)].map(({ name }) =>
    Deno.readTextFileSync(`${PORT}/gids/${name}`)
  );
  return gids.filter((gid) => gid.startsWith("fd")).length;
}

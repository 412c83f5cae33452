/** The GID table of rxe0 in the guest. */

const GIDS = "/sys/class/infiniband/rxe0/ports/1/gids";
const NETDEV = "dummy0";

/** What a row needs of the table. */
export const PREPARATIONS: Readonly<Record<"oneGid" | "manyGids", () => Promise<void>>> = {
  /** Leaves the link-local one. */
  oneGid: async () => {
    await ip(["addr del 10.0.0.1/24", "addr del fd00::1/64"]);
    await settle(1);
  },
  manyGids: async () => {
    const numbers = Array.from({ length: 199 }, (_, i) => i + 1);
    await ip(numbers.map((number) => `addr add fd00::${number.toString(16)}/64`));
    await settle(200);
  },
};

async function ip(lines: string[]): Promise<void> {
  const batch = await Deno.makeTempFile();
  await Deno.writeTextFile(batch, lines.map((line) => `${line} dev ${NETDEV}\n`).join(""));
  const { success } = await new Deno.Command("ip", { args: ["-batch", batch] }).spawn().status;
  if (!success) throw new Error("Cannot change the GID table: ip failed");
}

/** A GID comes and goes a little later than its address. */
async function settle(count: number): Promise<void> {
  for (let i = 0; used() !== count; i++) {
    if (i === 1000) throw new Error(`Cannot change the GID table: it has ${used()}, not ${count}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function used(): number {
  const gids = [...Deno.readDirSync(GIDS)].map(({ name }) =>
    Deno.readTextFileSync(`${GIDS}/${name}`)
  );
  return gids.filter((gid) => !/^[0:\s]*$/.test(gid)).length;
}

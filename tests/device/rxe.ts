/** What device tests share with the programs that they start, which import no more than programs of users can. */

import { type AhAttrInit, Context, type GidEntry } from "../../mod.ts";
import { standIn } from "./stand_in_device.ts";

export { until, withDeadline } from "../until.ts";

const SYSFS = "/sys/class/infiniband";

/** The name of the soft-RoCE device the tests use. */
export const RXE = standIn.device ?? findRxe();

/** Its only port. */
export const PORT = 1;
/** The qkey of the queue pairs made here. */
export const QKEY = 0x1111_1111;

/** Opens the soft-RoCE device. */
export function openRxe(): Context {
  return Context.open(RXE);
}

/** Kinds of GID that the device has one or more of. */
export type Family = "ipv4" | "ipv6" | "link-local";

/** The first GID of that kind. */
export function gidOf(context: Context, family: Family): GidEntry {
  const found = context.queryGidTable(PORT).find(({ gid }) =>
    family === "ipv4"
      ? gid.isIpv4Mapped
      : !gid.isIpv4Mapped && gid.isLinkLocal === (family === "link-local")
  );
  if (found === undefined) throw new Error(`Cannot test: ${RXE} has no ${family} GID`);
  return found;
}

/** The address of the device itself, by its GID of that kind. */
export function selfAddress(context: Context, family: Family = "ipv4"): AhAttrInit {
  const { gid, gidIndex } = gidOf(context, family);
  return { portNum: PORT, grh: { dgid: gid, sgidIndex: gidIndex, hopLimit: 64 } };
}

/** The text of a file of the device in sysfs, such as `ports/1/gids/0`, without white space around it. */
export function sysfs(path: string, device = RXE): string {
  return Deno.readTextFileSync(`${SYSFS}/${device}/${path}`).trim();
}

function findRxe(): string {
  // of all drivers only rxe names its network device in a file of that name
  const names = directory(SYSFS).filter((name) => directory(`${SYSFS}/${name}`).includes("parent"));
  if (names[0] === undefined) {
    throw new Error(
      "Cannot run device tests: there is no soft-RoCE device. " +
        '"deno task test" runs them in a guest that has one',
    );
  }
  return names[0];
}

function directory(path: string): string[] {
  try {
    return [...Deno.readDirSync(path)].map(({ name }) => name).sort();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

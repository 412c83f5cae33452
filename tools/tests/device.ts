/** Finds out whether this host can run the device tests and the examples itself. */

const DEVICES = "/sys/class/infiniband";
const VERBS = "/sys/class/infiniband_verbs";

/** The name of a device with an active port that this user may open; undefined when there is none. */
export function hostDevice(): string | undefined {
  return entries(DEVICES).find((device) => hasActivePort(device) && isOpenable(device));
}

function hasActivePort(device: string): boolean {
  const ports = `${DEVICES}/${device}/ports`;
  return entries(ports).some((port) =>
    Deno.readTextFileSync(`${ports}/${port}/state`).includes("ACTIVE")
  );
}

function isOpenable(device: string): boolean {
  const verbs = entries(VERBS)
    .filter((name) => name.startsWith("uverbs"))
    .find((name) => Deno.readTextFileSync(`${VERBS}/${name}/ibdev`).trim() === device);
  try {
    Deno.openSync(`/dev/infiniband/${verbs}`, { read: true, write: true }).close();
    return true;
  } catch {
    return false;
  }
}

function entries(folder: string): string[] {
  try {
    return [...Deno.readDirSync(folder)].map((entry) => entry.name).sort();
  } catch {
    // Without RDMA drivers the kernel has no such folder.
    return [];
  }
}

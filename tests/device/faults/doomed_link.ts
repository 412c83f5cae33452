import { Context, listDevices } from "../../../mod.ts";
import { run } from "../run.ts";
import { PORT, until } from "../setup.ts";

const NETDEV = "doomed0";
/** The device's name. */
export const DOOMED = "rxe_doomed";
/** Its address on its network. */
export const ADDRESS = "10.11.0.1";

/** A soft-RoCE device that a test takes away, with the network device under it. */
export interface DoomedLink extends AsyncDisposable {
  /**
   * Opens the device. When it is deleted, the kernel waits until all contexts are closed; the device is not listed any
   * more meanwhile. Disposing the link closes them.
   */
  open(): Context;
  /** Whether the device is listed. */
  readonly listed: boolean;
  /** Deletes the device, or the network device under it. It comes back when all who had opened the device have closed it. */
  delete(what: "device" | "netdev"): Promise<void>;
  /** Makes the device anew, where one has been deleted. */
  make(): Promise<void>;
  /** Takes the network device down or up. */
  set(state: "down" | "up"): Promise<void>;
  /** Adds or removes the address, and waits until the GID table of a context shows it. */
  address(action: "add" | "del", context: Context): Promise<void>;
}

/** Makes such a device; disposing it takes away what is left of it. */
export async function doomedLink(): Promise<DoomedLink> {
  await run("ip", "link", "add", NETDEV, "type", "dummy");
  await run("ip", "link", "set", NETDEV, "up");
  await run("ip", "addr", "add", `${ADDRESS}/24`, "dev", NETDEV);
  const listed = (): boolean => listDevices().some(({ name }) => name === DOOMED);
  const make = async (): Promise<void> => {
    await run("rdma", "link", "add", DOOMED, "type", "rxe", "netdev", NETDEV);
    using context = Context.open(DOOMED);
    await until("the GID of the address", () => slotOf(context) !== undefined);
  };
  const contexts: Context[] = [];
  let deletion: Promise<void> = Promise.resolve();
  const deleteDevice = (): Promise<void> => run("rdma", "link", "delete", DOOMED);
  const deleteNetdev = (): Promise<void> => run("ip", "link", "delete", NETDEV);
  await make();
  return {
    open: () => {
      const context = Context.open(DOOMED);
      contexts.push(context);
      return context;
    },
    get listed() {
      return listed();
    },
    delete: (what) => deletion = what === "device" ? deleteDevice() : deleteNetdev(),
    make,
    set: (state) => run("ip", "link", "set", NETDEV, state),
    address: async (action, context) => {
      await run("ip", "addr", action, `${ADDRESS}/24`, "dev", NETDEV);
      await until("the GID table", () => (slotOf(context) !== undefined) === (action === "add"));
    },
    [Symbol.asyncDispose]: async () => {
      for (const context of contexts) context.close();
      await deletion;
      if (listed()) await deleteDevice();
      if (hasNetdev()) await deleteNetdev();
    },
  };
}

/** The slot of the GID table that the address has. */
export function slotOf(context: Context): number | undefined {
  return context.queryGidTable(PORT).find(({ gid }) => gid.toString() === `::ffff:${ADDRESS}`)
    ?.gidIndex;
}

function hasNetdev(): boolean {
  return [...Deno.readDirSync("/sys/class/net")].some(({ name }) => name === NETDEV);
}

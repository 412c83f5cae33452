// What librdmacm does not take of addresses that reach this host or one link only, without a network.
import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { constants } from "node:os";
import { CmError, CmEventType, PortSpace, type SocketAddress } from "../../../cm.ts";
import { VerbsError } from "../../../mod.ts";
import { type FakeBed, test } from "./fake.ts";

const { EADDRNOTAVAIL, EINVAL, ENODEV } = constants.errno;
const PEER = { hostname: "10.0.0.2", port: 7471 };
/** The loopback interface is 1 on each host. */
const LO = 1;

const ONE_LINK = /reaches one link only.*\(f[ef]..::1%eth0\)$/;
const LOOPBACK = /is a loopback address: it reaches this host only/;
const MAPPED = /IPv4 address in its IPv6 form: give 10\.0\.0\.9$/;
const NO_DEVICE = /^No RDMA device has/;

/** Addresses that are refused as that of no device, and the cause. */
const REFUSED: readonly [address: Omit<SocketAddress, "port">, cause: RegExp][] = [
  [{ hostname: "fe80::1" }, ONE_LINK],
  [{ hostname: "fe80::1", scopeId: 0 }, ONE_LINK],
  [{ hostname: "ff02::1" }, ONE_LINK],
  [{ hostname: "fe80::1", scopeId: LO }, NO_DEVICE],
  [{ hostname: "fe80::1%lo" }, NO_DEVICE],
  [{ hostname: "127.0.0.1" }, LOOPBACK],
  [{ hostname: "127.9.9.9" }, LOOPBACK],
  [{ hostname: "::1" }, LOOPBACK],
  [{ hostname: "::ffff:127.0.0.1" }, LOOPBACK],
  [{ hostname: "::ffff:10.0.0.9" }, MAPPED],
  [{ hostname: "10.0.0.9" }, NO_DEVICE],
  [{ hostname: "169.254.0.9" }, NO_DEVICE],
  [{ hostname: "2001:db8::9" }, NO_DEVICE],
];

/** The calls that name an address, and the functions that refuse it. */
const CALLS: Readonly<
  Record<string, (bed: FakeBed, address: SocketAddress) => Promise<unknown>>
> = {
  async rdma_bind_addr({ net }, address): Promise<void> {
    (await net.idIn("IDLE")).bindAddr(address);
  },
  async rdma_resolve_addr({ net }, address): Promise<void> {
    await (await net.idIn("IDLE")).resolveAddr(address);
  },
  async rdma_resolve_route({ net }, address): Promise<void> {
    const id = await net.idIn("IDLE");
    const resolved = id.resolveAddr(address);
    net.push(id, CmEventType.ADDR_RESOLVED);
    await resolved;
    await id.resolveRoute();
  },
};

for (const [name, call] of Object.entries(CALLS)) {
  test(`${name} that refuses an address names how far it reaches`, async (bed) => {
    for (const [address, cause] of REFUSED) {
      bed.net.takeCalls();
      bed.net.fail(name, ENODEV);
      const refused = (): Promise<unknown> => call(bed, { ...address, port: 7471 });
      const { verb, hint = "" } = await assertRejects(refused, VerbsError);
      assertEquals([verb, cause.test(hint)], [name, true], `${address.hostname}: ${hint}`);
    }
  });
}

test("CmId.bindAddr() names the network interface that is missing for EINVAL too", async ({ net }) => {
  net.fail("rdma_bind_addr", EINVAL);
  const id = await net.idIn("IDLE");
  const { hint } = assertThrows(() => id.bindAddr({ hostname: "fe80::1", port: 0 }), VerbsError);
  assertStringIncludes(hint!, "give the network interface");
});

test("CmId.resolveAddr() names the source, if that is why it is refused", async ({ net }) => {
  net.fail("rdma_resolve_addr", ENODEV);
  const id = await net.idIn("IDLE");
  const source = { hostname: "127.0.0.1", port: 0 };
  const { hint } = await assertRejects(() => id.resolveAddr(PEER, { srcAddr: source }), VerbsError);
  assertStringIncludes(hint!, "127.0.0.1 is a loopback address");
});

test("An address that no device has is not said to have port 0 in use", async ({ net }) => {
  for (const [port, words] of [[0, "No RDMA device has 8.8.8.8"], [7, "uses port 7"]] as const) {
    net.takeCalls();
    net.fail("rdma_bind_addr", EADDRNOTAVAIL);
    const id = await net.idIn("IDLE");
    const { hint = "" } = assertThrows(
      () => id.bindAddr({ hostname: "8.8.8.8", port }),
      VerbsError,
    );
    assertEquals(hint.includes(words), true, hint);
  }
});

test("An event that no device leads to an address names how far it reaches", async ({ net }) => {
  for (
    const [hostname, cause] of [["127.0.0.1", LOOPBACK], ["10.0.0.9", /no RDMA device/]] as const
  ) {
    const id = await net.idIn("IDLE");
    const resolving = id.resolveAddr({ hostname, port: 7471 });
    net.push(id, CmEventType.ADDR_ERROR, -ENODEV);
    const { message } = await assertRejects(() => resolving, CmError);
    assertEquals(cause.test(message), true, message);
  }
});

test("CmId takes an address with its network interface, by name and by index", async ({ net }) => {
  for (const zone of ["lo", `${LO}`]) {
    const id = await net.idIn("IDLE");
    id.bindAddr({ hostname: `fe80::1%${zone}`, port: 0, scopeId: LO });
    const { hostname, scopeId } = id.localAddr!;
    assertEquals([hostname, scopeId], ["fe80::1", LO]);
  }
});

test("CmId refuses network interfaces that there are not, before native code", async ({ net }) => {
  const id = await net.idIn("IDLE", PortSpace.UDP);
  net.takeCalls();
  const { NotFound } = Deno.errors;
  const refused: readonly [SocketAddress, new (message: string) => Error, string][] = [
    [{ hostname: "fe80::1%none0", port: 0 }, NotFound, 'no network interface "none0"'],
    [{ hostname: "fe80::1%0", port: 0 }, NotFound, 'no network interface "0"'],
    [{ hostname: "fe80::1%lo\0x", port: 0 }, NotFound, "no network interface"],
    [{ hostname: "fe80::1%lo", port: 0, scopeId: 9 }, TypeError, "scopeId 9 is another"],
    [{ hostname: "fe80::1%99999999999", port: 0 }, RangeError, "scopeId"],
    [{ hostname: "fe80::1%", port: 0 }, SyntaxError, "neither IPv4 nor IPv6"],
    [{ hostname: "10.0.0.1%lo", port: 0 }, SyntaxError, "neither IPv4 nor IPv6"],
    [{ hostname: "host%lo", port: 0 }, SyntaxError, "neither IPv4 nor IPv6"],
  ];
  for (const [address, type, words] of refused) {
    assertThrows(() => id.bindAddr(address), type, words);
    await assertRejects(() => id.resolveAddr(address), type, words);
    if (address.scopeId !== undefined) continue;
    await assertRejects(() => id.joinMulticast(address.hostname), type, words);
    assertThrows(() => id.leaveMulticast(address.hostname), type, words);
  }
  assertEquals([id.state, net.takeCalls()], ["IDLE", []]);
});

import { assertEquals, assertNotStrictEquals, assertStrictEquals, assertThrows } from "@std/assert";
import type { WorkCompletions } from "../../../mod.ts";
import { Peers } from "../../../net/ud/peers.ts";

/** A batch with one datagram without a GRH. */
function batchOf(srcQp: number, path: number): WorkCompletions {
  const wc = { wcFlags: 0, slid: path >>> 16, srcQp };
  return {
    at: () => wc,
    wcFlags: () => 0,
    srcQp: () => srcQp,
    slid: () => path >>> 16,
    sl: () => path >>> 8 & 0xff,
    dlidPathBits: () => path & 0xff,
  } as unknown as WorkCompletions;
}

Deno.test("Peers: senders of the same hash are told apart", () => {
  const peers = new Peers(0, 4);
  const senderOf = (srcQp: number, path: number) =>
    peers.sender(batchOf(srcQp, path), 0, new Uint32Array(10), 0);
  // After this word of the second sender, its hash is that of the first one.
  const path = Math.imul(1, 0x9e37_79b1) ^ Math.imul(2, 0x9e37_79b1);
  const first = senderOf(1, 0);
  assertStrictEquals(senderOf(1, 0), first);
  const second = senderOf(2, path);
  assertNotStrictEquals(second, first);
  assertEquals(second.qpn, 2);
});

Deno.test("Peers: an address without a GID is refused and not kept", () => {
  const peers = new Peers(0, 1);
  const address = { transport: "ud", lid: 0, qpn: 1, qkey: 0 } as const;
  const known = peers.target({ ...address, gid: "::1" });
  for (const gid of ["", "x".repeat(1000)]) {
    assertThrows(() => peers.target({ ...address, gid }));
  }
  assertStrictEquals(peers.target({ ...address, gid: "::1" }), known);
});

// Both ends of rping and udaddy in one process: a librdmacm without a network leads them to each other.
import { assertEquals, assertStringIncludes } from "@std/assert";
import { LinkLayer, Mtu } from "../../../mod.ts";
import * as recorder from "../../../tests/provider/recorder.ts";
import { settled } from "../../../wait/descriptors.ts";
import { type Ran, ran } from "../pure/terminal.ts";
import { FakeBed } from "../../../tests/library/cm/fake.ts";

/** What a server and its client print. */
async function both(server: string, client: string): Promise<[Ran, Ran]> {
  const endings = await (async () => {
    using bed = new FakeBed();
    bed.connect("IPv4");
    const serving = ran(server.split(" "));
    // It listens before anybody connects.
    await new Promise((resolve) => setTimeout(resolve, 0));
    return await Promise.all([serving, ran([...client.split(" "), "host"])]);
  })();
  // Ends when no other thread waits any more.
  await settled();
  return endings;
}

Deno.test("rping compares in each round what the server has read and written back", async () => {
  const [server, client] = await both("rping -v", "rping -C 3 -S 40 -v");
  assertEquals([server.status, client.status], [0, 0], server.err + client.err);
  const lines = client.out.split("\n");
  assertEquals(lines.slice(0, 3).map((line) => line.slice(0, 28)), [
    "ping data: rdma-ping-0: NOPQ",
    "ping data: rdma-ping-1: OPQR",
    "ping data: rdma-ping-2: PQRS",
  ]);
  assertStringIncludes(server.out, "server ping data: rdma-ping-0: NOPQ");
  assertEquals(/\0/.test(client.out + server.out), false);
  assertStringIncludes(client.out, "3 rounds, 120 bytes there and back");
  assertStringIncludes(server.out, "3 rounds, 120 bytes there and back");
});

Deno.test("rping gives both results as JSON", async () => {
  const [server, client] = await both("rping --json", "rping -C 2 --json");
  assertEquals(JSON.parse(server.out), { role: "server", rounds: 2, bytes: 128 });
  assertEquals(JSON.parse(client.out), { role: "client", rounds: 2, bytes: 128 });
});

Deno.test("udaddy sends datagrams there, and as many back", async () => {
  const [server, client] = await both("udaddy -C 5 -S 200 --json", "udaddy -C 5 -S 200");
  assertEquals([server.status, client.status], [0, 0], server.err + client.err);
  assertEquals(JSON.parse(server.out), { role: "server", count: 5, size: 200 });
  assertStringIncludes(client.out, "5 datagrams of 200 bytes there, and as many back");
});

Deno.test("udaddy refuses datagrams that are longer than the MTU of the port", async () => {
  {
    using bed = new FakeBed();
    bed.connect("IPv4");
    const active_mtu = Mtu[1024];
    recorder.answer("ibv_query_port", { link_layer: LinkLayer.ETHERNET, active_mtu });
    const { status, err } = await ran(["udaddy", "-S", "2000", "host"]);
    assertEquals(status, 1);
    assertStringIncludes(err, "a datagram has at most 1024 bytes here, not 2000");
  }
  await settled();
});

Deno.test("udaddy refuses a datagram of another size", async () => {
  const [server] = await both("udaddy -C 1 -S 65 --timeout 1", "udaddy -C 1 -S 64 --timeout 1");
  assertEquals(server.status, 1);
  assertStringIncludes(server.err, "the peer sent 64 bytes, not 65");
});

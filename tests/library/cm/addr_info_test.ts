// What rdma-core 60 brought: addresses by an event, and events of the program's own.
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { CmError, CmEventType, CmId } from "../../../cm.ts";
import { nonblockingRdmacm } from "../../../ffi/rdmacm.ts";
import { VerbsError } from "../../../mod.ts";
import { spy, stub } from "@std/testing/mock";
import { test } from "./fake.ts";

const TYPE = CmEventType;

test("CmId.resolveAddrInfo() waits for the event, and queryAddrInfo() gives the addresses", async (bed) => {
  const id = new CmId(bed.net.channel);
  const resolved = id.resolveAddrInfo("host", "7471");
  bed.net.push(id, TYPE.ADDRINFO_RESOLVED);
  await resolved;
  assertEquals(id.state, "IDLE");
  const [info] = id.queryAddrInfo();
  assertEquals(info!.dstAddr, { hostname: "10.0.0.2", port: 7471 });
});

test("CmId.resolveAddrInfo() says why there is no address", async (bed) => {
  const id = new CmId(bed.net.channel);
  {
    using lookedUp = spy(nonblockingRdmacm(), "rdma_resolve_addrinfo");
    const failed = assertRejects(
      () => id.resolveAddrInfo("host"),
      CmError,
      "ADDRINFO_ERROR (EIO: ",
    );
    bed.net.push(id, TYPE.ADDRINFO_ERROR, -5);
    await failed;
    await Promise.all(lookedUp.calls.map(({ returned }) => returned));
  }
  const error = await assertRejects(() => id.resolveAddrInfo("nobody"), CmError, "is not known");
  assertEquals([error.status, error.event], [-2, undefined]);
  for (const [errno, words] of [[16, "EBUSY"], [95, "EOPNOTSUPP"]] as const) {
    const outcome = Promise.resolve({ value: -1, errno });
    using _stub = stub(nonblockingRdmacm(), "rdma_resolve_addrinfo", () => outcome);
    await assertRejects(() => id.resolveAddrInfo("host"), VerbsError, words);
  }
  await assertRejects(() => id.resolveAddrInfo("a\0b"), TypeError, "zero character");
  await assertRejects(() => id.resolveAddrInfo("a", "1", { flags: 2 ** 31 }), RangeError, "flags");
});

test("CmId.writeCmEvent() makes an event that comes by the channel", async (bed) => {
  const id = new CmId(bed.net.channel);
  for (const arg of [2n ** 64n - 1n, 7] as const) {
    id.writeCmEvent(TYPE.USER, -5, arg);
    const { value: event } = await bed.net.channel.events().next();
    assertEquals([event!.id, event!.event, event!.status], [id, TYPE.USER, -5]);
    assertEquals([event!.arg, event!.conn, event!.ud], [BigInt(arg), undefined, undefined]);
  }
  bed.net.takeCalls();
  const write = (...args: unknown[]) => () => id.writeCmEvent(...args as [never, never, never]);
  assertThrows(write(TYPE.ESTABLISHED, 0, 0), RangeError, "ESTABLISHED: it is not USER");
  assertThrows(write(TYPE.USER, 2 ** 31, 0), RangeError, "status");
  assertThrows(write(TYPE.USER, 0, -1n), RangeError, "arg");
  assertThrows(write(TYPE.USER, 0, "1"), TypeError, "arg");
  assertEquals(bed.net.takeCalls(), []);
  bed.net.fail("rdma_write_cm_event", 22);
  assertThrows(write(TYPE.USER, 0, 0), VerbsError, "Linux 6.17");
  // The fake has made it nevertheless.
  await bed.net.channel.events().next();
});

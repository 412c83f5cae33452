// Opening devices, and queries whose answers no device of the other tests gives.
import * as recorder from "../../provider/recorder.ts";
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { structs } from "../../../ffi/layout.ts";
import { Context, listDevices, PortState, VerbsError, WrBuilder } from "../../../mod.ts";
import {
  BorrowedDatagram,
  BorrowedMessage,
  ExposedMemory,
  RcConn,
  RcListener,
  UdConn,
} from "../../../net/mod.ts";

function failToOpen(...args: [] | [string]): Error {
  return assertThrows(() => Context.open(...args), Deno.errors.NotFound);
}

Deno.test("Context.open() gives the reason of each device when none can be opened", () => {
  recorder.reset();
  recorder.setDevices(2);
  recorder.fail("ibv_open_device", "EACCES", { times: 1 });
  recorder.answer("ibv_query_port", { state: PortState.INIT });
  const { message, cause } = failToOpen();
  assertStringIncludes(message, "recorder0 (ibv_open_device gave EACCES");
  // A message does not say a thing twice.
  assertEquals(message.match(/Cannot open device/g)?.length, 1);
  assertStringIncludes(message, "recorder1 (no port is active)");
  const [first] = (cause as AggregateError).errors as VerbsError[];
  assertEquals([first!.verb, first!.code], ["ibv_open_device", "EACCES"]);
  assertEquals(recorder.live(), 0);
});

Deno.test("Context.open() and listDevices() free the device list, whatever fails", () => {
  recorder.reset();
  Context.open().close();
  listDevices();
  assertEquals(recorder.live("list"), 0);
  recorder.fail("ibv_open_device", "EIO");
  failToOpen();
  assertThrows(() => Context.open("recorder0"), VerbsError);
  assertEquals(recorder.live("list"), 0);
  const calls = recorder.takeOf("ibv_get_device_list", "ibv_free_device_list");
  const pairs = Array(4).fill(["ibv_get_device_list", "ibv_free_device_list"]);
  assertEquals(calls.map(({ verb }) => verb), pairs.flat());
  assertEquals(recorder.violations(), []);
});

Deno.test("listDevices() is empty when the kernel has no RDMA module", () => {
  recorder.reset();
  recorder.fail("ibv_get_device_list", "ENOSYS", { times: 1 });
  assertEquals(listDevices(), []);
});

Deno.test("Context.queryPkey() and getPkeyIndex() turn the P_Key's bytes into host order and back", () => {
  recorder.reset();
  using context = Context.open();
  recorder.answerBytes("ibv_query_pkey", Uint8Array.of(0x12, 0x34));
  assertEquals(context.queryPkey(1, 0), 0x1234);
  recorder.take();
  context.getPkeyIndex(1, 0x1234);
  // C takes a __be16: the number whose bytes in memory are 12 34.
  const inMemory = new Uint16Array(Uint8Array.of(0x12, 0x34).buffer)[0];
  assertEquals(recorder.takeOne("ibv_get_pkey_index").args.pkey, inMemory);
});

Deno.test("Context.queryGidTable() has room for the slots of all ports, and picks those of one", () => {
  recorder.reset();
  recorder.answer("ibv_query_device", { phys_port_cnt: 2 });
  using context = Context.open();
  const { size, fields } = structs.ibv_gid_entry;
  recorder.answerBytes(
    "_ibv_query_gid_table",
    new Uint8Array(Uint32Array.of(2).buffer),
    size + fields.port_num.offset,
  );
  recorder.take();
  const table = context.queryGidTable();
  const slots = [1, 2].map((port) => context.queryPort(port).gidTblLen);
  const { args } = recorder.takeOne("_ibv_query_gid_table");
  assertEquals(args.max_entries, slots[0]! + slots[1]!);
  assertEquals(args.entry_size, size);
  assertEquals(table.map(({ portNum, gidIndex }) => [portNum, gidIndex]), [[1, 0], [2, 1]]);
  assertEquals(context.queryGidTable(1), table.slice(0, 1));
  assertEquals(context.queryGidTable(2), table.slice(1));
});

Deno.test("Context refuses ports that the device does not have, and asks no device for that", () => {
  recorder.reset();
  using context = Context.open();
  const queries: ((port: number) => unknown)[] = [
    (port) => context.queryPort(port),
    (port) => context.queryGid(port, 0),
    (port) => context.queryGidEx(port, 0),
    (port) => context.queryGidTable(port),
    (port) => context.queryPkey(port, 0),
    (port) => context.getPkeyIndex(port, 0),
    (port) => context.recommendGid(port),
  ];
  recorder.take();
  for (const query of queries) {
    for (const port of [0, 2, 257]) {
      const refused = `Cannot use portNum ${port}: device "recorder0" has port 1 only`;
      assertThrows(() => query(port), RangeError, refused);
    }
  }
  assertEquals(recorder.take(), []);
});

for (
  const [what, opened, prepare] of [
    ["cannot be opened", 1, () => recorder.fail("ibv_open_device", "EACCES", { times: 1 })],
    ["does not answer", 1, () => recorder.fail("___ibv_query_port", "EIO", { times: 1 })],
    // It answers with zeros.
    [
      "has a port without a state",
      1,
      () => recorder.fail("___ibv_query_port", 0, { times: 1, result: 0n }),
    ],
    ["has a second port that is active", 0, () => {
      recorder.answer("ibv_query_device", { phys_port_cnt: 2 });
      recorder.fail("___ibv_query_port", 0, { times: 1, result: 0n });
    }],
  ] as const
) {
  Deno.test(`Context.open() opens recorder${opened} if the first device ${what}`, () => {
    recorder.reset();
    recorder.setDevices(3);
    prepare();
    {
      using context = Context.open();
      assertEquals([context.device.name, recorder.live("context")], [`recorder${opened}`, 1]);
    }
    assertEquals([recorder.live(), recorder.violations()], [0, []]);
  });
}

Deno.test("Context.open() takes no port for active that is only about to be", () => {
  for (const state of [PortState.DOWN, PortState.INIT, PortState.ARMED, PortState.ACTIVE_DEFER]) {
    recorder.reset();
    recorder.answer("ibv_query_port", { state });
    assertStringIncludes(failToOpen().message, "recorder0 (no port is active)");
  }
});

/** Classes whose objects the library makes, and what to call instead of their constructors. */
const MADE = [
  [Context, "new Context(): Context.open() opens a device"],
  [UdConn, "new UdConn(): listenUd() opens sockets"],
  [RcConn, "new RcConn(): connectRc() and RcListener.accept() connect"],
  [RcListener, "new RcListener(): listenRc() listens"],
  [WrBuilder, "new WrBuilder(): QueuePairEx.wrStart() begins requests"],
  [BorrowedMessage, "new BorrowedMessage(): borrow() lends messages"],
  [BorrowedDatagram, "new BorrowedDatagram(): borrow() lends messages"],
  [ExposedMemory, "new ExposedMemory(): RcConn.expose() shares memory"],
] as const;

Deno.test("The constructor of a class whose objects the library makes names what makes them", () => {
  for (const [type, message] of MADE) {
    for (const given of [[], ["recorder0"], [{ handle: {}, parts: {} }], [null]]) {
      assertThrows(() => Reflect.construct(type, given), TypeError, `Cannot use ${message}`);
    }
  }
});

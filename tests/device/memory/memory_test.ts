// Memory regions, of their own memory and of the caller's.
import {
  assert,
  assertEquals,
  assertNotEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import {
  AccessFlags,
  MemoryRegion,
  MemorySlice,
  type MemorySource,
  namesOf,
  ProtectionDomain,
  VerbsError,
  WcStatus,
  WrOpcode,
} from "../../../mod.ts";
import { bufferAddress } from "../../../ffi/pointers.ts";
import { outputOf } from "../../subprocess.ts";
import { connectedPair, countOf, deviceTest, openRxe, type Pair, RXE, waitFor } from "../setup.ts";

const { LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC } = AccessFlags;

const IMPORT_MAP = `--import-map=${
  new URL("../../../tools/std/import_map.json", import.meta.url).pathname
}`;

function withPd(use: (pd: ProtectionDomain) => void): void {
  using context = openRxe();
  use(new ProtectionDomain(context));
}

/** Sends the region's bytes, has them received into it again one further on, and gives those. */
async function throughDevice({ left, right }: Pair, mr: MemoryRegion): Promise<Uint8Array> {
  mr.bytes().set([1, 2, 3, 4, 5, 6, 7, 8]);
  right.qp.postRecv({ sge: mr.slice(16, 8) });
  left.qp.postSend({ sge: mr.slice(0, 8) });
  (await waitFor(left.cq))[0]!.check();
  (await waitFor(right.cq))[0]!.check();
  return mr.bytes(16, 8);
}

deviceTest("new MemoryRegion() makes zeroed memory that lies on a page", () => {
  withPd((pd) => {
    const before = countOf("mr");
    const mr = new MemoryRegion(pd, 100_000, LOCAL_WRITE);
    assertEquals(countOf("mr"), before + 1);
    assertEquals([mr.length, mr.pd], [100_000, pd]);
    assertEquals(mr.addr % 4096n, 0n);
    assertEquals(mr.bytes(), new Uint8Array(100_000));
    assertEquals(bufferAddress(mr.bytes()), mr.addr);
    mr.close();
    assertEquals(countOf("mr"), before);
  });
});

deviceTest("new MemoryRegion() gives each region keys of its own", () => {
  withPd((pd) => {
    const [one, other] = [new MemoryRegion(pd, 4096, REMOTE_READ), new MemoryRegion(pd, 4096, 0)];
    assertNotEquals(one.lkey, other.lkey);
    assertNotEquals(one.rkey, 0);
  });
});

const SOURCES: [string, () => MemorySource][] = [
  ["a length", () => 64],
  ["an ArrayBuffer", () => new ArrayBuffer(64)],
  ["a SharedArrayBuffer", () => new SharedArrayBuffer(64)],
  ["a Uint8Array", () => new Uint8Array(64)],
  ["a part of a buffer", () => new Uint8Array(new ArrayBuffer(5000), 777, 64)],
  ["a DataView", () => new DataView(new ArrayBuffer(200), 100, 64)],
  ["a Float64Array", () => new Float64Array(8)],
  ["a view of a SharedArrayBuffer", () => new Uint8Array(new SharedArrayBuffer(128), 33, 64)],
];

for (const [what, make] of SOURCES) {
  deviceTest(`new MemoryRegion() has the device use ${what}`, async () => {
    using pair = connectedPair();
    const source = make();
    using mr = new MemoryRegion(pair.pd, source, LOCAL_WRITE);
    assertEquals(mr.length, 64);
    assertEquals([...await throughDevice(pair, mr)], [1, 2, 3, 4, 5, 6, 7, 8]);
    if (typeof source === "number") return;
    assertEquals(bufferAddress(source), mr.addr);
    const { buffer, byteOffset } = ArrayBuffer.isView(source) ? source : new Uint8Array(source);
    assertEquals([...new Uint8Array(buffer, byteOffset + 16, 3)], [1, 2, 3]);
  });
}

const { RDMA_READ, RDMA_WRITE, ATOMIC_FETCH_AND_ADD } = WrOpcode;
const { SUCCESS, REM_ACCESS_ERR } = WcStatus;
const ACCESSES: [string, number, WrOpcode, WcStatus][] = [
  ["lets peers read", REMOTE_READ, RDMA_READ, SUCCESS],
  ["lets peers not read", LOCAL_WRITE | REMOTE_WRITE, RDMA_READ, REM_ACCESS_ERR],
  ["lets peers write", LOCAL_WRITE | REMOTE_WRITE, RDMA_WRITE, SUCCESS],
  ["lets peers not write", LOCAL_WRITE | REMOTE_READ, RDMA_WRITE, REM_ACCESS_ERR],
  ["lets peers use atomics", LOCAL_WRITE | REMOTE_ATOMIC, ATOMIC_FETCH_AND_ADD, SUCCESS],
  ["lets peers not use atomics", LOCAL_WRITE, ATOMIC_FETCH_AND_ADD, REM_ACCESS_ERR],
];
for (const [what, access, opcode, status] of ACCESSES) {
  deviceTest(`MemoryRegion ${what} with ${namesOf(AccessFlags, access)}`, async () => {
    using pair = connectedPair();
    const { left, pd } = pair;
    using mr = new MemoryRegion(pd, 4096, access);
    const target = { remoteAddr: mr.addr, rkey: mr.rkey };
    const sge = left.mr.slice(0, 8);
    const compareAdd = opcode === ATOMIC_FETCH_AND_ADD ? { compareAdd: 1n } : {};
    left.qp.postSend({ opcode, sge, ...target, ...compareAdd });
    assertEquals((await waitFor(left.cq))[0]!.status, status);
  });
}

for (const [name, access] of Object.entries({ REMOTE_WRITE, REMOTE_ATOMIC })) {
  deviceTest(
    `new MemoryRegion() says what ${name} needs when LOCAL_WRITE is missing`,
    () => {
      withPd((pd) => {
        const before = countOf("mr");
        const error = assertThrows(() => new MemoryRegion(pd, 4096, access), VerbsError);
        assertEquals([error.verb, error.code], ["ibv_reg_mr", "EINVAL"]);
        assertStringIncludes(
          error.message,
          `Cannot register memory (4096 bytes, access ${name})`,
        );
        assertStringIncludes(error.hint!, "REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE");
        assertEquals(countOf("mr"), before);
      });
    },
  );
}

deviceTest("new MemoryRegion() refuses bad arguments before native code", () => {
  withPd((pd) => {
    const detached = new ArrayBuffer(8);
    detached.transfer();
    for (const length of [0, -1]) assertThrows(() => new MemoryRegion(pd, length, 0), RangeError);
    for (const length of [1.5, NaN]) {
      assertThrows(() => new MemoryRegion(pd, length, 0), TypeError);
    }
    const view = new Uint8Array(8);
    view.buffer.transfer();
    for (const gone of [detached, view]) {
      assertThrows(() => new MemoryRegion(pd, gone, 0), TypeError, "the buffer is detached");
    }
    for (const empty of [new Uint8Array(0), new ArrayBuffer(0)]) {
      assertThrows(() => new MemoryRegion(pd, empty, 0), RangeError, "the buffer is empty");
    }
    const resizable = new ArrayBuffer(8, { maxByteLength: 16 });
    const growable = new SharedArrayBuffer(8, { maxByteLength: 16 });
    for (const buffer of [resizable, growable, new Uint8Array(resizable)]) {
      assertThrows(() => new MemoryRegion(pd, buffer, 0), TypeError, "the buffer is resizable");
    }
    assertThrows(() => new MemoryRegion(pd, 8, -1), RangeError, "access");
    assertThrows(() => new MemoryRegion(pd, 8, 2 ** 32), RangeError, "access");
    assertThrows(() => new MemoryRegion(pd, "8" as unknown as number, 0), TypeError);
    assertThrows(
      () => new MemoryRegion(pd, 2 ** 50, 0),
      RangeError,
      "there is not so much memory",
    );
  });
});

deviceTest("new MemoryRegion() names the limit on locked memory", async () => {
  // root may lock as much as it likes, unless it gives up this capability
  const printed = await outputOf(
    `
  import { Context, MemoryRegion, ProtectionDomain, VerbsError } from MOD;
  using context = Context.open("${RXE}");
  using pd = new ProtectionDomain(context);
  try { new MemoryRegion(pd, 1 << 20, 1); } catch (error) {
    console.log(error instanceof VerbsError, error.code, error.hint);
  }
  new MemoryRegion(pd, 8192, 1).close();
  console.log("and less works");`,
    {
      prefix: [
        "prlimit",
        "--memlock=262144:262144",
        "setpriv",
        "--bounding-set=-ipc_lock",
        "--inh-caps=-ipc_lock",
      ],
    },
  );
  assertEquals(
    printed,
    'true ENOMEM The limit on locked memory is likely too small: "ulimit -l" shows it\nand less works',
  );
});

deviceTest("MemoryRegion.slice() gives a part by its address", () => {
  withPd((pd) => {
    const mr = new MemoryRegion(pd, 4096, LOCAL_WRITE);
    const slice = mr.slice(100, 50);
    assert(slice instanceof MemorySlice);
    assertEquals([slice.addr, slice.length, slice.lkey], [mr.addr + 100n, 50, mr.lkey]);
    assertEquals([slice.mr, slice.offset], [mr, 100]);
    slice.bytes[0] = 7;
    assertEquals(mr.bytes(100, 1)[0], 7);
    assertEquals(mr.slice(4000).length, 96);
    assertEquals([mr.slice(4096).length, mr.slice(0, 0).length], [0, 0]);
  });
});

deviceTest("MemoryRegion.slice(), bytes() and grhAt() refuse what is not within the region", () => {
  withPd((pd) => {
    const mr = new MemoryRegion(pd, 4096, LOCAL_WRITE);
    for (const [offset, length] of [[0, 4097], [4097, 0], [-1, 1], [4095, 2], [0, -1]] as const) {
      assertThrows(() => mr.slice(offset, length), RangeError, "it is not within");
      assertThrows(() => mr.bytes(offset, length), RangeError, "it is not within");
    }
    assertThrows(() => mr.slice(0.5, 1), TypeError, "it is not an integer");
    assertThrows(() => mr.slice(NaN), TypeError, "it is not an integer");
    assertThrows(() => mr.grhAt(4057), RangeError);
    mr.grhAt(4056);
  });
});

deviceTest("MemoryRegion's own memory is out of reach when it is disposed", () => {
  withPd((pd) => {
    const mr = new MemoryRegion(pd, 4096, LOCAL_WRITE);
    const slice = mr.slice(0, 10);
    const [view, part] = [mr.bytes(), slice.bytes];
    mr.close();
    mr.close();
    assertEquals([view.length, part.length], [0, 0]);
    view[0] = 1;
    assertEquals(view[0], undefined);
    for (const use of [() => mr.bytes(), () => slice.bytes, () => mr.slice(0), () => mr.grhAt(0)]) {
      assertThrows(use, TypeError, "Cannot use memory region: it is disposed");
    }
  });
});

deviceTest("The caller's memory stays when its region is disposed", () => {
  withPd((pd) => {
    const bytes = new Uint8Array(100).fill(3);
    new MemoryRegion(pd, bytes, LOCAL_WRITE).close();
    assertEquals(bytes, new Uint8Array(100).fill(3));
  });
});

deviceTest(
  "MemoryRegion keeps a device from writing into other buffers when all is transferred and forgotten",
  async () => {
    const setup = JSON.stringify(import.meta.resolve("../setup.ts"));
    const printed = await outputOf(
      `
    import { AccessFlags, AddressHandle, MemoryRegion, QpType } from MOD;
    import { makeEnd, openRxe, PORT, QKEY, selfAddress, waitFor } from ${setup};
    import { ProtectionDomain } from MOD;
    function makeReady(pd) {
      const end = makeEnd(pd, QpType.UD);
      end.qp.activateUd({ port: PORT, qkey: QKEY });
      return end;
    }
    function forget() {
      const pd = new ProtectionDomain(openRxe());
      const { qp } = makeReady(pd);
      const bytes = new Uint8Array(8192);
      const mr = new MemoryRegion(pd, bytes, AccessFlags.LOCAL_WRITE);
      for (let i = 0; i < 8; i++) qp.postRecv({ sge: mr.slice(1024 * i, 1024) });
      try {
        bytes.buffer.transfer();
        console.log("transferred");
      } catch {
        // The memory stays where it is.
      }
      return qp.qpNum;
    }
    const remoteQpn = forget();
    for (let i = 0; i < 8; i++) {
      gc();
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    const others = Array.from({ length: 500 }, () => new Uint8Array(8192).fill(0x11));
    using context = openRxe();
    const pd = new ProtectionDomain(context);
    const { qp, cq, mr } = makeReady(pd);
    mr.bytes().fill(0xee);
    const ah = new AddressHandle(pd, selfAddress(context));
    for (let i = 0; i < 8; i++) {
      qp.postSend({ sge: mr.slice(0, 984), ah, remoteQpn, remoteQkey: QKEY });
    }
    await waitFor(cq, 8);
    console.log(others.every((bytes) => bytes.every((byte) => byte === 0x11)));
    Deno.exit(0);`,
      { permissions: ["--allow-all", "--v8-flags=--expose-gc", IMPORT_MAP] },
    );
    assertEquals(printed, "true");
  },
);

deviceTest("MemoryRegion can be made and disposed 1000 times", () => {
  withPd((pd) => {
    for (let i = 0; i < 1000; i++) new MemoryRegion(pd, 65536, LOCAL_WRITE).close();
  });
});

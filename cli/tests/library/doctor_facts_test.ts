// What doctor gathers from the files of a system, the library and the device.
import { assertEquals, assertStringIncludes } from "@std/assert";
import { gather } from "../../doctor/gather.ts";
import type { HostFacts } from "../../doctor/facts.ts";
import { library } from "../../../ffi/mod.ts";
import { structs } from "../../../ffi/layout.ts";
import { LinkLayer, PortState } from "../../../mod.ts";
import { type Files, withFiles } from "../pure/system.ts";
import { type Ran, ran } from "../pure/terminal.ts";
import * as recorder from "../../../tests/provider/recorder.ts";

const IB = "/sys/class/infiniband/recorder0";
const NET = "/sys/class/net";

const FILES: Files = {
  "/dev/infiniband/uverbs0": "",
  "/sys/class/infiniband_verbs/abi_version": "6",
  "/sys/class/infiniband_verbs/uverbs0/ibdev": "recorder0",
  "/sys/class/infiniband_verbs/uverbs7/ibdev": "other0",
  "/sys/class/misc/rdma_cm/dev": "10:1",
  "/sys/module/ib_core/parameters/netns_mode": "N",
  [`${IB}/parent`]: "eth1",
  [`${IB}/ports/1/counters/port_rcv_errors`]: "1",
  [`${IB}/ports/1/gid_attrs/ndevs/0`]: "eth7",
  [`${IB}/ports/1/gid_attrs/ndevs/1`]: "eth8",
  [`${NET}/eth1/flags`]: "0x1003",
  [`${NET}/eth1/carrier`]: "1",
  [`${NET}/eth1/mtu`]: "9000",
  [`${NET}/eth7/ifindex`]: "7",
  [`${NET}/eth7/flags`]: "0x1002",
  [`${NET}/eth7/carrier`]: "0",
  [`${NET}/eth8/flags`]: "0x1001",
  "/proc/self/net/dev": "Inter-| Receive\n  eth1: 1 2\n  eth7: 1 2\n eth80: 3",
  "/proc/self/limits":
    "Max open files            1024                 4096                 files\n" +
    "Max locked memory         65536                unlimited            bytes",
  "/proc/self/status": "Name:\tx\nCapEff:\t0000000000000001",
};

async function facts(files: Files, work: () => void = () => {}): Promise<HostFacts> {
  recorder.reset();
  recorder.answer("ibv_query_port", { link_layer: LinkLayer.ETHERNET, active_mtu: 3, lid: 5 });
  using _ = withFiles(files);
  return await gather({ "ib-dev": "recorder0", "ib-port": undefined }, () => {
    work();
    return Promise.resolve(2);
  });
}

Deno.test("doctor gathers facts of a host from its files", async () => {
  const { library: { providers: _, ...found }, kernel, devices, ...rest } = await facts(FILES);
  const { path } = library();
  assertEquals(found, { path, error: null, suffix: null });
  assertEquals(kernel, Deno.osRelease());
  assertEquals(rest, {
    uverbs: "6",
    rdmaUcm: true,
    namespaces: "exclusive",
    inKernel: ["recorder0"],
    files: [{ name: "uverbs0", device: "recorder0", error: null }],
    limits: { lockedMemory: 65536, openFiles: 1024 },
    seconds: 2,
  });
  const [{ ports: [port], ...device }] = devices as [HostFacts["devices"][number]];
  assertEquals(device, { name: "recorder0", error: null });
  const { netdevs, ...others } = port!;
  assertEquals(others, {
    port: 1,
    state: "ACTIVE",
    isRoce: true,
    lid: 5,
    mtu: 1024,
    gid: { index: 1, gid: "::ffff:10.0.0.1", isRoceV2: true, isLinkLocal: false },
    rises: {},
    errors: { port_rcv_errors: 1 },
  });
  const [eth7, eth8, ...more] = netdevs;
  assertEquals([eth7!.isUp, eth7!.hasCarrier, eth7!.mtu, eth7!.name], [false, false, 0, "eth7"]);
  assertEquals([eth8!.isUp, eth8!.isHere, eth8!.name, more], [true, false, "eth8", []]);
});

Deno.test("doctor finds the file of a library that the system has found", async () => {
  const folder = await Deno.makeTempDir();
  const file = `${folder}/libibverbs.so.1.14.44.0`;
  await Deno.writeTextFile(file, "");
  const found = library() as { path: string };
  const { path } = found;
  found.path = "libibverbs.so.1";
  try {
    const maps = ["7f00-7f01 r-xp 0 08:01 42", "7f02-7f03 r-xp 0 08:01 43 /usr/lib/libc.so.6"];
    const lines = [maps[1], `${maps[0]} ${file}`, maps[0]].join("\n");
    const withMaps = await facts({ ...FILES, "/proc/self/maps": lines });
    assertEquals([withMaps.library.path, (await facts(FILES)).library.path], [file, null]);
  } finally {
    found.path = path;
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("doctor takes only uverbs files for those of devices, of all devices if none is named", async () => {
  recorder.reset();
  using _ = withFiles(FILES);
  const choice = { "ib-dev": undefined, "ib-port": undefined };
  const { files } = await gather(choice, () => Promise.resolve(2));
  assertEquals(files.map(({ name }) => name), ["uverbs0", "uverbs7"]);
});

Deno.test("doctor looks at the interface that the device names, where no GID names one", async () => {
  const { size } = structs.ibv_gid_entry;
  const { devices: [device] } = await facts(FILES, () => {
    for (const entry of [0, 1]) {
      recorder.answerBytes("_ibv_query_gid_table", new Uint8Array(16), entry * size);
    }
  });
  const [eth1, ...others] = device!.ports[0]!.netdevs;
  assertEquals([eth1!.name, eth1!.isHere, eth1!.mtu, others], ["eth1", true, 9000, []]);
});

Deno.test("doctor tells a network interface from one of that name in another namespace", async () => {
  const isHere = async (files: Files): Promise<unknown> => {
    const { devices: [device] } = await facts(files);
    return device!.ports[0]!.netdevs.find(({ name }) => name === "eth7")!.isHere;
  };
  // The index that the recorder's GIDs have.
  assertEquals(await isHere({ ...FILES, [`${NET}/eth7/ifindex`]: "2" }), true);
  assertEquals(await isHere({ ...FILES, [`${NET}/eth7/ifindex`]: "7" }), false);
});

Deno.test("doctor gathers facts of a host that has hardly any files", async () => {
  const { devices: [device], ...rest } = await facts({
    [`${IB}/ports/1/counters/port_rcv_errors`]: "1",
    "/proc/self/status": "CapEff:\t0000000000004000",
  });
  assertEquals({ ...rest, kernel: "", library: 0 }, {
    kernel: "",
    library: 0,
    uverbs: null,
    rdmaUcm: false,
    namespaces: "shared",
    inKernel: ["recorder0"],
    files: [],
    limits: { lockedMemory: null, openFiles: null },
    seconds: 2,
  });
  assertEquals(device!.ports[0]!.netdevs, []);
});

Deno.test("doctor gathers what rises, and why a device cannot be looked at", async () => {
  const files = { ...FILES };
  const risen = await facts(files, () => {
    recorder.answer("ibv_query_port", { bad_pkey_cntr: 2, state: PortState.DOWN });
    files[`${IB}/ports/1/counters/port_rcv_errors`] = "4";
  });
  const [port] = risen.devices[0]!.ports;
  assertEquals(port!.rises, { port_rcv_errors: 3, badPkeyCntr: 2 });
  assertEquals(port!.errors, { badPkeyCntr: 2, port_rcv_errors: 4 });
  assertEquals(port!.state, "DOWN");
  const gone = await facts(FILES, () => recorder.fail("___ibv_query_port", "EIO", { times: 9 }));
  assertEquals([gone.devices[0]!.ports, gone.devices[0]!.error?.includes("EIO")], [[], true]);
});

Deno.test("doctor looks at the interfaces of its namespace only, where there are some", async () => {
  const here = {
    ...FILES,
    [`${NET}/eth7/ifindex`]: "2",
    "/proc/self/net/dev": "Inter-| Receive\n  eth7: 1 2",
  };
  const { devices: [device] } = await facts(here);
  assertEquals(device!.ports[0]!.netdevs.map(({ name }) => name), ["eth7"]);
});

Deno.test("doctor tells an interface without a hardware address", async () => {
  const hasAddress = async (length: string): Promise<unknown> => {
    const { devices: [device] } = await facts({ ...FILES, [`${NET}/eth7/addr_len`]: length });
    return device!.ports[0]!.netdevs.find(({ name }) => name === "eth7")!.hasAddress;
  };
  // Ethernet, an IPv4 tunnel, and WireGuard or tun.
  const found = [await hasAddress("6"), await hasAddress("4"), await hasAddress("0")];
  assertEquals(found, [true, false, false]);
});

/** How doctor ends on the staged host. */
async function doctor(...args: string[]): Promise<Ran> {
  recorder.reset();
  recorder.answer("ibv_query_port", { link_layer: LinkLayer.ETHERNET, active_mtu: 3, lid: 5 });
  using _ = withFiles(FILES);
  return await ran(["doctor", "-n", "0", ...args]);
}

Deno.test("doctor names the devices and ports that are there, if the chosen one is not", async () => {
  for (
    const [args, reason] of [
      [["-d", "recoder0"], 'there is no device "recoder0"; devices: other0, recorder0'],
      [["-d", "recorder0", "-i", "2"], 'there is no port 2: "recorder0" has 1'],
      [["-i", "2"], 'there is no port 2: "recorder0" has 1'],
      [["--listen", "-d", "recoder0"], 'there is no device "recoder0"; devices: other0, recorder0'],
    ] as const
  ) {
    assertEquals(await doctor(...args), { status: 3, out: "", err: `doctor: ${reason}\n` });
  }
});

Deno.test("doctor examines this host if a peer is silent, and names the peer", async () => {
  const { connect, setTimeout } = { connect: Deno.connect, setTimeout: globalThis.setTimeout };
  // A host that is down answers nothing, and the time has passed at once.
  Object.assign(Deno, { connect: () => new Promise(() => {}) });
  globalThis.setTimeout = ((step: () => void) => setTimeout(step, 0)) as typeof setTimeout;
  try {
    const { status, out, err } = await doctor("-d", "recorder0", "--peer", "192.0.2.1");
    const silent = "Cannot connect to 192.0.2.1, TCP port 18515: no answer within 10 s";
    assertEquals([status, err], [3, `doctor: ${silent}; "doctor --listen" must run there\n`]);
    assertStringIncludes(out, " recorder0 port 1  ACTIVE");
  } finally {
    Object.assign(Deno, { connect });
    globalThis.setTimeout = setTimeout;
  }
});

Deno.test("doctor says when it watches, if it was told how long", async () => {
  recorder.reset();
  for (
    const [args, expected] of [
      [[], ""],
      [["-n", "0"], ""],
      [["-n", "1"], "doctor: it watches the counters for 1 s: start the program that fails\n"],
    ] as const
  ) {
    using _ = withFiles(FILES);
    assertEquals((await ran(["doctor", "-d", "recorder0", ...args])).err, expected);
  }
});

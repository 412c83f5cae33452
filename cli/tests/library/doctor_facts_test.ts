// What doctor gathers from the files of a system, the library and the device. printed.txt has more of it.
import { assertEquals, assertStringIncludes } from "@std/assert";
import { library } from "../../../ffi/mod.ts";
import { structs } from "../../../ffi/layout.ts";
import { LinkLayer, PortState } from "../../../mod.ts";
import { withFiles } from "../pure/system.ts";
import { type Ran, ran } from "../pure/terminal.ts";
import * as recorder from "../../../tests/provider/recorder.ts";
import { factsOf, FILES, IB } from "./staged_systems.ts";

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
    const withMaps = await factsOf({ ...FILES, "/proc/self/maps": lines });
    assertEquals([withMaps.library.path, (await factsOf(FILES)).library.path], [file, null]);
  } finally {
    found.path = path;
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("doctor looks at the interface that the device names, where no GID names one", async () => {
  const { size } = structs.ibv_gid_entry;
  const { devices: [device] } = await factsOf(FILES, () => {
    for (const entry of [0, 1]) {
      recorder.answerBytes("_ibv_query_gid_table", new Uint8Array(16), entry * size);
    }
  });
  const [eth1, ...others] = device!.ports[0]!.netdevs;
  assertEquals([eth1!.name, eth1!.isHere, eth1!.mtu, others], ["eth1", true, 9000, []]);
});

Deno.test("doctor gathers what rises, and why a device cannot be looked at", async () => {
  const files = { ...FILES };
  const risen = await factsOf(files, () => {
    recorder.answer("ibv_query_port", { bad_pkey_cntr: 2, state: PortState.DOWN });
    files[`${IB}/ports/1/counters/port_rcv_errors`] = "4";
  });
  const [port] = risen.devices[0]!.ports;
  assertEquals(port!.rises, { port_rcv_errors: 3, badPkeyCntr: 2 });
  assertEquals(port!.errors, { badPkeyCntr: 2, port_rcv_errors: 4 });
  assertEquals(port!.state, "DOWN");
  const gone = await factsOf(FILES, () => recorder.fail("___ibv_query_port", "EIO", { times: 9 }));
  assertEquals([gone.devices[0]!.ports, gone.devices[0]!.error?.includes("EIO")], [[], true]);
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
    const line = ["-d", "recorder0", "--peer", "192.0.2.1"];
    const silent = "Cannot connect to 192.0.2.1, TCP port 18515: no answer within 10 s";
    const failure = `${silent}; "doctor --listen" must run there`;
    const { status, out, err } = await doctor(...line);
    assertEquals([status, err], [3, ""]);
    // This host has a fault of its own, which matters more than what may fail.
    const levels = Array.from(out.matchAll(/^[a-z ]+(?=: )/gm), ([level]) => level);
    assertEquals([...new Set(levels)], ["broken", "not examined", "warning"]);
    assertStringIncludes(out, `\nnot examined: ${failure}\n`);
    assertStringIncludes(out, " recorder0 port 1  ACTIVE");
    const json = JSON.parse((await doctor(...line, "--json")).out);
    assertEquals([json.status, json.failure], ["broken", failure]);
  } finally {
    Object.assign(Deno, { connect });
    globalThis.setTimeout = setTimeout;
  }
});

Deno.test("doctor says when it watches, if it was asked how long", async () => {
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

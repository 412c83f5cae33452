// Two doctors in one process: the recorder moves the messages that they send each other.
import { assertEquals, assertStringIncludes } from "@std/assert";
import * as recorder from "../../../tests/provider/recorder.ts";
import { Context, GidType, LinkLayer, PortState, QpState } from "../../../mod.ts";
import type { RecordedStruct } from "../../../tests/provider/records.ts";
import { pairPort } from "../../doctor/pair.ts";
import { ran } from "../pure/terminal.ts";

const PORT = "18620";

// deno-lint-ignore no-explicit-any -- what JSON has
type Page = any;

async function says(...args: string[]): Promise<{ status: number; page: Page }> {
  const { status, out } = await ran(["doctor", "--json", "-d", "recorder0", ...args]);
  return { status, page: JSON.parse(out) };
}

function setUp(): void {
  recorder.reset();
  recorder.answer("ibv_query_port", { link_layer: LinkLayer.ETHERNET });
  recorder.connect();
}

Deno.test("two doctors count messages of both services and sizes in both directions", async () => {
  setUp();
  const [listens, connects] = await Promise.all([
    says("--listen", "-p", PORT),
    says("--peer", "127.0.0.1", "-p", PORT),
  ]);
  for (const { page: { pair, doctor } } of [listens, connects]) {
    const all = { sent: 8, received: 8, status: "SUCCESS" };
    const probes = [
      ...[{ service: "UD", size: 64, ...all }, { service: "UD", size: pair.mtu, ...all }],
      ...[{ service: "RC", size: 64, ...all }, { service: "RC", size: 16384, ...all }],
    ];
    assertEquals([doctor, pair.host], [1, "127.0.0.1"]);
    assertEquals([pair.out, pair.in], [probes, probes]);
    assertEquals(pair.here.port.device, "recorder0");
    assertEquals(pair.gids, { here: "::ffff:10.0.0.1", there: "::ffff:10.0.0.1" });
  }
  assertEquals(listens.page.pair.there, connects.page.pair.here);
});

Deno.test("doctor sends from GIDs of RoCE v2 only, where there are other ones too", () => {
  setUp();
  recorder.answer("_ibv_query_gid_table", { gid_type: GidType.ROCE_V1 });
  using context = Context.open();
  assertEquals(pairPort(context, 1, 0).gids.map(({ index, family }) => [index, family]), [[
    1,
    "IPv4",
  ]]);
});

Deno.test("doctor reports a wrong qkey that comes while it looks", async () => {
  setUp();
  const looking = says("-n", "1");
  await new Promise((resolve) => setTimeout(resolve, 0));
  recorder.answer("ibv_query_port", { link_layer: LinkLayer.ETHERNET, qkey_viol_cntr: 5 });
  const { page } = await looking;
  assertEquals(page.facts.devices[0].ports[0].rises, { qkeyViolCntr: 5 });
  assertEquals(page.findings.some(({ id }: { id: string }) => id === "wrong-qkey"), true);
});

Deno.test("two doctors of hosts without a link tell each other what is broken", async () => {
  setUp();
  recorder.answer("ibv_query_port", { link_layer: LinkLayer.ETHERNET, state: PortState.DOWN });
  const port = "18621";
  const [listens, asks] = await Promise.all([
    says("--listen", "-p", port),
    ran(["doctor", "-d", "recorder0", "--peer", "127.0.0.1", "-p", port]),
  ]);
  assertEquals([listens.status, asks.status], [2, 2]);
  const { pair, findings } = listens.page;
  assertEquals([pair.here.port, pair.there.port, pair.out], [null, null, []]);
  const ids = findings.map(({ id, subject }: { id: string; subject: string }) =>
    `${id} ${subject}`
  );
  // What else is wrong depends on the host that runs the tests.
  const expected = ["peer-broken 127.0.0.1 recorder0 port 1", "link-down recorder0 port 1"];
  assertEquals(expected.filter((id) => !ids.includes(id)), []);
  assertStringIncludes(asks.out, "broken: 127.0.0.1 recorder0 port 1: there is no link");
});

Deno.test("two doctors send in the partition of --pkey-index, whose P_Keys they compare", async () => {
  setUp();
  recorder.answer("ibv_query_port", { link_layer: LinkLayer.ETHERNET, pkey_tbl_len: 4 });
  recorder.take();
  const [listens, connects] = await Promise.all([
    says("--listen", "-p", PORT, "--pkey-index", "1"),
    says("--peer", "127.0.0.1", "-p", PORT, "--pkey-index=3"),
  ]);
  assertEquals([listens, connects].map(({ page }) => page.pair.out.length), [4, 4]);
  const calls = recorder.takeOf("ibv_modify_qp", "ibv_query_pkey").map(({ verb, args }) => ({
    verb,
    ...verb === "ibv_query_pkey" ? args : (args["attr"] as RecordedStruct).fields,
  })) as Page[];
  const asked = calls.filter(({ verb }) => verb === "ibv_query_pkey").map(({ index }) => index);
  const used = calls.filter(({ qp_state }) => qp_state === QpState.INIT)
    .map(({ pkey_index }) => pkey_index);
  assertEquals([asked.toSorted(), [...new Set(used)].toSorted()], [[1, 3], [1, 3]]);
});

Deno.test("doctor refuses a P_Key index beyond the table before it waits for another doctor", async () => {
  setUp();
  recorder.answer("ibv_query_port", { link_layer: LinkLayer.ETHERNET, pkey_tbl_len: 4 });
  // Nobody connects to the one, and nobody listens for the other.
  for (const ends of [["--listen"], ["--peer", "127.0.0.1"]]) {
    const args = ["doctor", "-d", "recorder0", "-p", PORT, ...ends, "--pkey-index", "4"];
    const { status, out, err } = await ran(args);
    assertEquals([status, err], [3, ""]);
    const reason =
      "there is no P_Key of index 4: the table of recorder0 port 1 has 4, from index 0";
    assertStringIncludes(out, `not examined: ${reason}`);
  }
  const { status, err } = await ran(["doctor", "--pkey-index", "0"]);
  assertEquals(status, 3);
  assertStringIncludes(err, "--pkey-index is for --listen and --peer");
});

// Each event in each state: the state that follows, what happens to the queue pair, what is called, what the program gets.
// events.txt has it; after a wanted change run this file with IBVERBS_PRINT=1: it writes it anew.

import { assertEquals } from "@std/assert";
import { type CmEvent, CmEventType, type CmId, PortSpace } from "../../../cm.ts";
import { QpState } from "../../../mod.ts";
import { FakeBed, STATES } from "./fake.ts";

const FILE = new URL("events.txt", import.meta.url);
const { UDP: DATAGRAM, TCP: STREAM } = PortSpace;

/** States that ids for datagrams do not have: they establish nothing. */
const OF_STREAMS = ["RESPONDED", "DISCONNECTING", "DISCONNECTED"];

const nameOf = (values: object, value: number): string =>
  Object.entries(values).find(([, known]) => known === value)![0];

function told({ id, listenId, conn, ud, status }: CmEvent, own: CmId): string {
  const about = id === own ? "" : ` of a new id in state ${id.state}`;
  const data = new TextDecoder().decode((conn ?? ud)?.privateData);
  const param = conn ? ` conn ${data}` : ud ? ` ud ${data}` : "";
  return `event${about}${listenId === own ? ", requested" : ""}, status ${status}${param}`;
}

/** What an event does to an id in a state. */
async function outcome(state: string, portSpace: PortSpace, type: CmEventType): Promise<string> {
  using bed = new FakeBed();
  const { net } = bed;
  const id = await net.idIn(state, portSpace);
  // Nobody waits for it, and it changes nothing.
  const last = await net.idIn("IDLE", portSpace);
  net.takeCalls();
  net.push(id, type, 5, "data");
  net.push(last, CmEventType.TIMEWAIT_EXIT);
  const lines: string[] = [];
  for await (const event of net.channel) {
    if (event.id === last) break;
    lines.push(told(event, id));
    if (event.id !== id) event.id.close();
  }
  const qp = id.qp && nameOf(QpState, id.qp.state);
  // Channels of the cases before end late.
  const calls = net.takeCalls().filter((name) => !name.startsWith("destroy_"));
  return [id.state, qp && `queue pair in ${qp}`, ...calls, ...lines].filter(Boolean).join("; ");
}

async function outcomes(state: string, portSpace: PortSpace): Promise<string[]> {
  const types = new Map<string, string[]>();
  for (const [name, type] of Object.entries(CmEventType)) {
    if (type === CmEventType.MULTICAST_JOIN) continue;
    types.getOrInsert(await outcome(state, portSpace, type), []).push(name);
  }
  return Array.from(types, ([text, names]) => `  ${names.join(" ")}: ${text}`);
}

Deno.test("Each event has the effect that it has in that state, and no other", async () => {
  const lines: string[] = [];
  for (const [service, portSpace] of Object.entries({ STREAM, DATAGRAM })) {
    for (const state of STATES) {
      if (portSpace === DATAGRAM && OF_STREAMS.includes(state)) continue;
      lines.push(`${service} ${state}`, ...await outcomes(state, portSpace));
    }
  }
  const text = `${lines.join("\n")}\n`;
  if (Deno.env.get("IBVERBS_PRINT") === "1") await Deno.writeTextFile(FILE, text);
  assertEquals(text, await Deno.readTextFile(FILE));
});

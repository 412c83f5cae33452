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
  const [right, other] = own.portSpace === DATAGRAM ? [ud, conn] : [conn, ud];
  const data = new TextDecoder().decode(right?.privateData);
  const param = other ? " parameters of the other service" : right ? ` "${data}"` : "";
  return `event${about}${listenId === own ? ", requested" : ""}, status ${status}${param}`;
}

/** What an event does to an id in a state; what stays as it is is not said. */
async function outcome(state: string, portSpace: PortSpace, type: CmEventType): Promise<string> {
  using bed = new FakeBed();
  const { net } = bed;
  const id = await net.idIn(state, portSpace);
  // Nobody waits for it, and it changes nothing.
  const last = await net.idIn("IDLE", portSpace);
  const qpState = id.qp?.state;
  net.takeCalls();
  net.push(id, type, 5, "data");
  net.push(last, CmEventType.TIMEWAIT_EXIT);
  const lines: string[] = [];
  for await (const event of net.channel) {
    if (event.id === last) break;
    lines.push(told(event, id));
    if (event.id !== id) event.id.close();
  }
  const qp = id.qp?.state !== qpState && `queue pair in ${nameOf(QpState, id.qp!.state)}`;
  // Channels of the cases before end late.
  const calls = net.takeCalls().filter((name) => !name.startsWith("destroy_"));
  return [id.state !== state && id.state, qp, ...calls, ...lines].filter(Boolean).join("; ");
}

/** The outcomes of an event, each with the states that have it: of both services, or of the one that is named. */
async function outcomes(type: CmEventType): Promise<string[]> {
  const seen = new Map<string, string[]>();
  for (const state of STATES) {
    const stream = await outcome(state, STREAM, type);
    const datagram = OF_STREAMS.includes(state) ? stream : await outcome(state, DATAGRAM, type);
    if (stream === datagram) seen.getOrInsert(stream, []).push(state);
    else {
      seen.getOrInsert(stream, []).push(`STREAM ${state}`);
      seen.getOrInsert(datagram, []).push(`DATAGRAM ${state}`);
    }
  }
  return Array.from(seen, ([text, states]) => `  ${text || "nothing"}: ${states.join(", ")}`);
}

Deno.test("Each event has the effect that it has in that state, and no other", async () => {
  const blocks = new Map<string, string[]>();
  for (const [name, type] of Object.entries(CmEventType)) {
    if (type === CmEventType.MULTICAST_JOIN) continue;
    blocks.getOrInsert((await outcomes(type)).join("\n"), []).push(name);
  }
  const text = Array.from(blocks, ([lines, names]) => `${names.join(" ")}\n${lines}\n`).join("");
  if (Deno.env.get("IBVERBS_PRINT") === "1") await Deno.writeTextFile(FILE, text);
  assertEquals(text, await Deno.readTextFile(FILE));
});

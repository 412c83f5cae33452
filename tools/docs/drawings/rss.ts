/** Receive side scaling: how a packet reaches a work queue. */

import { arrow, box, boxHeight, cell, drawing, label } from "./svg.ts";

const ENTRIES = 8;
const QUEUES = 4;
const ENTRY = 30;
const TOP = 72;
/** The entry that the packet of the drawing reaches: the hash of the example in docs/rss.md is 0x51ccc178. */
const HASH = 0x51ccc178;

/** Draws a hash, an indirection table of 8 entries, and 4 work queues. */
export function rss(): string {
  const flow = ["66.9.149.187:2794", "> 161.142.100.80", "  :1766 tcp"];
  const hash = ["TOEPLITZ", "key of 40 bytes", "SRC_IPV4 DST_IPV4", "SRC_PORT_TCP", "DST_PORT_TCP"];
  const hit = HASH & (ENTRIES - 1);
  const entryY = (entry: number): number => TOP + entry * ENTRY;
  const queueY = (queue: number): number => TOP + 8 + queue * 60;
  const entries = Array.from({ length: ENTRIES }, (_, entry) => entry);
  const queues = Array.from({ length: QUEUES }, (_, queue) => queue);
  return drawing(
    "Receive side scaling: the hash of a packet selects an entry of the indirection table, and the entry names a work queue",
    900,
    376,
    [
      box({ x: 16, y: 110, w: 154, h: boxHeight(flow.length) }, "data", "Packet", flow),
      box({ x: 206, y: 92, w: 158, h: boxHeight(hash.length) }, "header", "RxHash", hash),
      arrow([170, 150], [206, 150]),
      label("RwqIndirectionTable", 466, 40, "title"),
      label("8 entries", 466, 58, "small faint"),
      ...entries.map((entry) =>
        cell(
          { x: 466, y: entryY(entry), w: 110, h: ENTRY },
          entry === hit ? "number" : "plain",
          `${entry}: queue ${entry % QUEUES}`,
        )
      ),
      arrow([364, 150], [410, 150], [410, entryY(hit) + ENTRY / 2], [466, entryY(hit) + ENTRY / 2]),
      label("0x51ccc178", 374, 64, "code"),
      label("& 7 = 0", 374, 80, "code"),
      label("WorkQueue", 660, 40, "title"),
      label("each has receives of its own", 660, 58, "small faint"),
      ...queues.map((queue) =>
        cell(
          { x: 660, y: queueY(queue), w: 100, h: 44 },
          queue === hit % QUEUES ? "number" : "plain",
          `queue ${queue}`,
          "RDY",
        )
      ),
      ...entries.map((entry) =>
        arrow([576, entryY(entry) + ENTRY / 2], [660, queueY(entry % QUEUES) + 22])
      ),
      box({ x: 800, y: 150, w: 84, h: 60 }, "plain", "CQ", ["qpNum ="]),
      label("wqNum", 810, 203, "code"),
      ...queues.map((queue) => arrow([760, queueY(queue) + 22], [800, 165 + queue * 10])),
      box({ x: 206, y: 236, w: 220, h: boxHeight(3) }, "number", "QueuePair", [
        "type        RAW_PACKET",
        "rwqIndTbl   the table",
        "rxHashConf  the hash",
      ]),
      arrow([290, 236], [290, 211]),
      arrow([426, 278], [466, 278]),
      box({ x: 16, y: 236, w: 154, h: boxHeight(2) }, "plain", "Flow", [
        "which packets the",
        "queue pair gets",
      ]),
      arrow([170, 268], [206, 268]),
      label(
        "The queue pair has no receive queue. A flow rule brings packets to it, and the table spreads them.",
        16,
        356,
        "small faint",
      ),
    ],
  );
}

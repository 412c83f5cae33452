/** The states of a queue pair. */

import { arrow, box, boxHeight, drawing, type Kind, label } from "./svg.ts";

const W = 156;
const TOP = 66;
const BELOW = 210;

/** Draws the states and the ways between them. */
export function states(): string {
  const state = (x: number, y: number, kind: Kind, name: string, lines: string[]): string =>
    box({ x, y, w: W, h: boxHeight(lines.length) }, kind, name, lines);
  const chain = TOP + 34;
  const bottom = TOP + boxHeight(2);
  return drawing("The states of a queue pair and the transitions between them", 900, 340, [
    label("init()", 212, chain - 10, "code", "middle"),
    label("activateUc(peer), activateRc(peer)", 561, 38, "code", "middle"),
    `<polyline class="line" points="404,54 404,46 716,46 716,54"/>`,
    state(20, TOP, "plain", "RESET", ["no posts", "from every state"]),
    state(248, TOP, "header", "INIT", ["postRecv()", "nothing arrives"]),
    state(482, TOP, "header", "RTR", ["postRecv()", "messages arrive"]),
    state(716, TOP, "data", "RTS", ["postRecv()", "postSend()"]),
    arrow([176, chain], [248, chain]),
    arrow([404, chain], [482, chain]),
    arrow([638, chain], [716, chain]),
    state(716, BELOW, "header", "SQD", ["sends drain", "receives go on"]),
    arrow([800, bottom], [800, BELOW]),
    arrow([846, BELOW], [846, bottom]),
    state(482, BELOW, "number", "SQE", ["UC, UD only", "receives go on"]),
    arrow([736, bottom], [736, 168], [560, 168], [560, BELOW]),
    label("a send failed", 568, 160, "small faint"),
    arrow([638, 246], [680, 246], [680, 188], [768, 188], [768, bottom]),
    state(248, BELOW, "number", "ERR", ["WR_FLUSH_ERR", "from every state"]),
    arrow([248, 246], [98, 246], [98, bottom]),
    label("modify({ qpState })", 106, 238, "code"),
    label(
      "activateUd() goes all the way from RESET to RTS. An RC queue pair goes to ERR if a send fails.",
      20,
      318,
      "small faint",
    ),
  ]);
}

/** The layers of the project. */

import { arrow, box, drawing, type Kind, label } from "./svg.ts";

const LEFT = 20;
const W = 620;
const H = 52;
const GAP = 26;

const LAYERS: readonly (readonly [kind: Kind, name: string, contents: string])[] = [
  ["data", "net/   cli/   rxe/   examples/", "use the public API only"],
  ["header", "mod.ts", "the public API: named exports, nothing else"],
  ["header", "types/", "a class for each verbs object; checks; lifetimes; errors with hints"],
  ["number", "ffi/", "all unsafe code: the table of verbs, layouts, thunks, errno, memory"],
  ["plain", "libibverbs.so.1 and the provider", "libmlx5, libmlx4, librxe, ... of the system"],
  ["plain", "kernel: ib_uverbs and the driver", "/dev/infiniband/uverbs*"],
];

/** Draws the layers, the highest first. */
export function architecture(): string {
  const y = (i: number): number => 20 + i * (H + GAP);
  return drawing("The layers of the project", 660, y(LAYERS.length) + 16, [
    ...LAYERS.map(([kind, name, contents], i) =>
      box({ x: LEFT, y: y(i), w: W, h: H }, kind, name, [contents])
    ),
    ...LAYERS.slice(1).map((_, i) => arrow([330, y(i) + H], [330, y(i + 1)])),
    label("calls", 340, y(0) + H + 17, "small faint"),
    label(
      "Posting and polling mostly stop at the provider: it talks to the device without the kernel.",
      LEFT,
      y(LAYERS.length) + 2,
      "small faint",
    ),
  ]);
}

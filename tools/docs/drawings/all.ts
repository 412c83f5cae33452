/** All drawings of the documentation. */

import { architecture } from "./architecture.ts";
import { grh } from "./grh.ts";
import { objects } from "./objects.ts";
import { replyPath } from "./reply_path.ts";
import { rss } from "./rss.ts";
import { states } from "./states.ts";

/** The drawings by the name of their file in `docs/drawings/`. */
export const DRAWINGS: Readonly<Record<string, () => string>> = {
  "architecture.svg": architecture,
  "grh.svg": grh,
  "objects.svg": objects,
  "reply_path.svg": replyPath,
  "rss.svg": rss,
  "states.svg": states,
};

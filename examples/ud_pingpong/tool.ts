import type { Tool } from "../pingpong/options.ts";

/** The command line of ud_pingpong. */
export const TOOL: Tool = {
  name: "ud_pingpong",
  summary: "Sends a datagram back and forth and measures how long that takes.",
  numbers: ["warm-up"],
  flags: ["reply-from-wc"],
  defaults: { size: 1024 },
};

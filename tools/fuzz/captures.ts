/** Packets and completions as people paste them, and captures: what cli explain makes of them. */

import { run } from "../../cli/run.ts";
import { FRAMES, pcap, TUNNELS } from "../../cli/tests/pure/captures.ts";
import { recorder } from "../../cli/tests/pure/terminal.ts";
import { bytes, hostileText, mutated } from "./inputs.ts";
import { fc, isHarmless, same, target } from "./target.ts";

const FILE = `${Deno.makeTempDirSync({ prefix: "ibverbs-fuzz-" })}/packets.pcap`;
globalThis.addEventListener("unload", () => {
  Deno.removeSync(FILE.replace(/\/[^/]*$/, ""), { recursive: true });
});

/** It says what it reads or why not, in characters that a terminal shows. */
async function checkExplained(args: string[]): Promise<void> {
  for (const more of [[], ["--json"]]) {
    const printed = recorder();
    const status = await run(["explain", ...args, ...more], printed.terminal);
    same(isHarmless(printed.out + printed.err), true, "what is printed");
    same(status === 0 || /^\w+: \S/.test(printed.err), true, `a message with status ${status}`);
  }
}

async function checkCapture(capture: Uint8Array): Promise<void> {
  await Deno.writeFile(FILE, capture);
  await checkExplained([FILE]);
}

const frame = fc.constantFrom(...FRAMES, ...Object.values(TUNNELS)).map((hex) =>
  Uint8Array.fromHex(hex)
);
const packet = fc.oneof(frame, mutated(frame), bytes(40), bytes(48), bytes(0, 100))
  .map((bytes) => bytes.toHex());
const whole = fc.array(packet, { maxLength: 4 }).map((frames) => pcap(frames));
const capture = fc.oneof(whole, mutated(whole));
const hex = fc.string({ unit: fc.constantFrom(..."0123456789abcdef x:,\n\t0x"), maxLength: 200 });
const pasted = fc.tuple(
  fc.array(fc.oneof(packet, hex, hostileText).filter((text) => text !== ""), { maxLength: 3 }),
  fc.constantFrom([], [], ["--as=grh"], ["--as=completion"], ["--as=packet"]),
).map(([texts, as]) => [...as, "--", ...texts]);

export const CAPTURES = [
  target("explain", "cli explain of text and packets", pasted, checkExplained),
  target("captures", "cli explain of captures", capture, checkCapture),
];

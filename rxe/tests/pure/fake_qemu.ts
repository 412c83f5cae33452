/**
 * Stands in for qemu-system-x86_64: it connects to the sockets as QEMU does, and plays what a test
 * has written down in the folder FAKE_QEMU. It leaves its arguments and its initial RAM disk there.
 *
 * @module
 */

import type { Step } from "./machines.ts";

const folder = Deno.env.get("FAKE_QEMU")!;
const sockets = new Map(
  Deno.args.flatMap((word) => {
    const [, name, path] = word.match(/^socket,id=(\w+),path=(.*)$/) ?? [];
    return name === undefined ? [] : [[name, path!] as const];
  }),
);
const host = sockets.get("ctl")!.split("/").at(-2)!;
const starts = [...Deno.readDirSync(folder)].filter(({ name }) => name.startsWith(`args-${host}-`));
const start = starts.length + 1;
Deno.writeTextFileSync(`${folder}/args-${host}-${start}`, JSON.stringify(Deno.args));
Deno.copyFileSync(
  Deno.args[Deno.args.indexOf("-initrd") + 1]!,
  `${folder}/initrd-${host}-${start}`,
);

const plan: Record<string, Step[][]> = JSON.parse(Deno.readTextFileSync(`${folder}/plan.json`));
const steps = plan[host]![start - 1]!;

const streams = new Map<string, Deno.UnixConn>();
if (steps[0]?.to !== "exit") {
  for (const [name, path] of sockets) {
    streams.set(name, await Deno.connect({ transport: "unix", path }));
  }
}
for (const { to, text } of steps) {
  if (to === "go") {
    await streams.get("ctl")!.read(new Uint8Array(64));
  } else if (to === "echo") {
    for await (const bytes of streams.get("in")!.readable) await streams.get("out")!.write(bytes);
  } else if (to === "exit") {
    Deno.stderr.writeSync(new TextEncoder().encode(text));
    Deno.exit(1);
  } else if (to === "kill") {
    Deno.kill(Deno.pid, "SIGKILL");
  } else {
    await streams.get(to)!.write(new TextEncoder().encode(text));
  }
}
// The machine runs until the host ends it.
setInterval(() => {}, 1 << 30);

// A command among the programs of another userland. That of the guest stands for it: a container has no right to mount.

import { assertEquals } from "@std/assert";
import { capture, DENO_WITHIN, within } from "../../../tools/host/setup.ts";

const SCRIPT = `pwd
ls /run
touch /usr/x 2>/dev/null || echo cannot write
[ /usr -ef "$0" ] && echo there
exec "$@"`;

Deno.test("within() runs a command in the same folder, with Deno, and writes nothing into the userland", async () => {
  const print = `console.log(Deno.execPath())`;
  const { status, stdout } = await capture(
    ...within("/", ["sh", "-c", SCRIPT, "/usr", DENO_WITHIN, "eval", print]),
  );
  const lines = [Deno.cwd(), "deno", "cannot write", "there", DENO_WITHIN, ""];
  assertEquals([status, stdout], [0, lines.join("\n")]);
});

Deno.test("within() gives the status of the command, and its own when the userland is not there", async () => {
  assertEquals((await capture(...within("/", ["sh", "-c", "exit 3"]))).status, 3);
  const { status, stderr } = await capture(...within("/nowhere", ["true"]));
  assertEquals([status === 0, stderr.includes("/nowhere")], [false, true]);
});

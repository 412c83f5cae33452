// What libibverbs itself says when a process has reached its limit of descriptors.
import { assertEquals } from "@std/assert";
import { outputOf } from "../../subprocess.ts";

Deno.test("listDevices() and Context.open() fail with EMFILE when no descriptor is left", async () => {
  const printed = await outputOf(
    `
    import { Context, listDevices } from MOD;
    listDevices();
    const open = [];
    try { for (;;) open.push(Deno.openSync("/dev/null")); } catch {}
    for (const call of [listDevices, () => Context.open("rxe0")]) {
      try { call(); } catch ({ verb, code, hint }) { open.pop().close(); console.log(verb, code, hint); }
      open.push(Deno.openSync("/dev/null"));
    }
    for (const file of open) file.close();
    listDevices();
    console.log("works again");`,
    { prefix: ["prlimit", "--nofile=64"] },
  );
  const line =
    'ibv_get_device_list EMFILE The process has no file descriptor left: "ulimit -n" shows the limit\n';
  assertEquals(printed, `${line}${line}works again`);
});

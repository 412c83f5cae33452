// The parts of a guest's run that need no guest.
import { assertEquals, assertRejects } from "@std/assert";
import { asset } from "../../../rxe/asset.ts";
import { lostFiles, lostText } from "../../../rxe/guest/lost.ts";
import { Interruption } from "../../../rxe/guest/interruption.ts";
import { Prefixed } from "../../../rxe/guest/prefixed.ts";
import { processorsOfEach } from "../../../rxe/guest/qemu.ts";
import { SetupError } from "../../../rxe/host/report.ts";

const encoder = new TextEncoder();

Deno.test("lostFiles() leaves out temporary files, but not those of the command's folder", () => {
  const paths = ["/tmp/project/b", "/tmp/x", "/var/log/y", "/etc/z", "/tmp/project/.cache/c"];
  assertEquals(lostFiles(paths, "/tmp/project", ["/tmp/project/.cache"]), [
    "/etc/z",
    "/tmp/project/b",
  ]);
});

Deno.test("lostText() names a few files from the command's folder, and counts the others", () => {
  assertEquals(lostText([], "/p"), undefined);
  const many = ["/p/a", "/p/b", "/p/c", "/p/d", "/q/e", "/q/f", "/q/g"];
  assertEquals(
    lostText(many, "/p"),
    "guest: changes to a, b, c, d, /q/e and 2 more went with the guest; --share keeps a folder",
  );
});

Deno.test("Prefixed puts a name before each line when lines and characters come in pieces", async () => {
  let text = "";
  const decoder = new TextDecoder();
  const prefixed = new Prefixed({
    write: (bytes) => {
      text += decoder.decode(bytes.subarray(0, 3), { stream: true });
      return Promise.resolve(Math.min(3, bytes.length));
    },
  }, "host1: ");
  const bytes = encoder.encode("one\nzwölf\n\nend");
  for (const byte of bytes) await prefixed.write(Uint8Array.of(byte));
  assertEquals(text, "host1: one\nhost1: zwölf\nhost1: \n");
  await prefixed.end();
  await prefixed.end();
  assertEquals(text, "host1: one\nhost1: zwölf\nhost1: \nhost1: end\n");
});

Deno.test("Interruption listens to three signals while it lives", () => {
  const { addSignalListener, removeSignalListener } = Deno;
  const listeners = new Map<string, () => void>();
  Deno.addSignalListener = (signal, listener) => void listeners.set(signal, listener);
  Deno.removeSignalListener = (signal, listener) => {
    if (listeners.get(signal) === listener) listeners.delete(signal);
  };
  try {
    const interruption = new Interruption();
    assertEquals([...listeners.keys()], ["SIGINT", "SIGTERM", "SIGHUP"]);
    interruption[Symbol.dispose]();
    assertEquals(listeners.size, 0);
  } finally {
    Object.assign(Deno, { addSignalListener, removeSignalListener });
  }
});

Deno.test("asset() reads a file of the package, and says which one it cannot read", async () => {
  const script = new TextDecoder().decode(await asset("guest/init.sh"));
  assertEquals(script.startsWith("#!/bin/busybox sh\n"), true);
  await assertRejects(() => asset("guest/none.sh"), SetupError, "rxe/guest/none.sh: ");
});

Deno.test("processorsOfEach() gives guests no more processors than the host has, and at most two", () => {
  assertEquals(
    [[1, 1], [1, 8], [2, 1], [2, 2], [2, 4], [4, 7]].map(([guests, processors]) =>
      processorsOfEach(guests!, processors)
    ),
    [1, 2, 1, 1, 2, 1],
  );
});

// Waiting for a descriptor on the thread itself.
import { assertEquals, assertThrows } from "@std/assert";
import { stub } from "@std/testing/mock";
import { blockUntilReadable } from "../../../wait/descriptors.ts";
import { libc } from "../../../ffi/libc.ts";
import { SystemError } from "../../../ffi/system_error.ts";
import { outputOf } from "../../subprocess.ts";

// Opened here, not in a test: it is never closed.
libc();

Deno.test("blockUntilReadable() says whether a descriptor is readable, also after the time", () => {
  const fd = libc().eventfd(0, 0);
  const look = (): boolean => blockUntilReadable(fd, performance.now() - 1);
  assertEquals(look(), false);
  libc().write(fd, BigUint64Array.of(1n), 8n);
  assertEquals([look(), blockUntilReadable(fd, Infinity)], [true, true]);
  libc().close(fd);
  // Its reader learns why.
  assertEquals(look(), true);
});

Deno.test("blockUntilReadable() gives the errno of poll()", () => {
  // A descriptor that is not open.
  using _refused = stub(libc(), "poll", () => libc().close(-1));
  const error = assertThrows(() => blockUntilReadable(0, Infinity), SystemError);
  assertEquals([error.call, error.code], ["poll", "EBADF"]);
});

/** Signals its process, which is in `poll(2)`, and then makes the descriptor readable. */
const WORKER = `
  import { libc } from ${JSON.stringify(import.meta.resolve("../../../ffi/libc.ts"))};
  onmessage = ({ data: fd }) => {
    const thread = "/proc/" + Deno.pid + "/task/" + Deno.pid + "/syscall";
    const asleep = () => {
      while (!/^(7|73|271) /.test(Deno.readTextFileSync(thread)));
    };
    for (let i = 0; i < 3; i++) {
      asleep();
      Deno.kill(Deno.pid, "SIGUSR2");
    }
    asleep();
    libc().write(fd, BigUint64Array.of(1n), 8n);
    self.close();
  };`;

Deno.test("blockUntilReadable() waits on after a signal", async () => {
  const printed = await outputOf(`
    import { libc } from ${JSON.stringify(import.meta.resolve("../../../ffi/libc.ts"))};
    import { blockUntilReadable } from ${
    JSON.stringify(import.meta.resolve("../../../wait/descriptors.ts"))
  };
    Deno.addSignalListener("SIGUSR2", () => {});
    const fd = libc().eventfd(0, 0);
    const source = "data:text/javascript," + encodeURIComponent(${JSON.stringify(WORKER)});
    new Worker(source, { type: "module" }).postMessage(fd);
    console.log(blockUntilReadable(fd, Infinity));
    Deno.exit();`);
  assertEquals(printed, "true");
});

// What a Worker that has ended leaves in the process.
import { assertEquals } from "@std/assert";
import { outputOf } from "../subprocess.ts";

const url = (path: string): string => JSON.stringify(import.meta.resolve(`../../ffi/${path}`));

/** Binds a verb through thunks, waits for a descriptor, and ends. */
const WORKER = `
  import { bindAll } from ${url("library.ts")};
  import { waitReadable } from ${url("fd_watcher.ts")};
  import { libc } from ${url("libc.ts")};
  bindAll();
  const fd = libc().eventfd(1, 0);
  waitReadable(fd).ready.then(() => {
    libc().close(fd);
    setTimeout(() => {
      self.postMessage("waited");
      self.close();
    });
  });`;

/** Runs Workers one after the other, and prints how many descriptors of a kind the last five have added. */
function script(kind: string): string {
  return `
    const count = () =>
      [...Deno.readDirSync("/proc/self/fd")].filter(({ name }) => {
        try {
          return Deno.readLinkSync("/proc/self/fd/" + name).includes("${kind}");
        } catch {
          return false;
        }
      }).length;
    const source = "data:text/javascript," + encodeURIComponent(${JSON.stringify(WORKER)});
    const run = async () => {
      const worker = new Worker(source, { type: "module" });
      await new Promise((resolve) => worker.onmessage = resolve);
      await new Promise((resolve) => setTimeout(resolve, 100));
    };
    await run();
    await run();
    const before = count();
    for (let i = 0; i < 5; i++) await run();
    console.log(count() - before);`;
}

Deno.test("a Worker uses the machine code that another one has loaded", async () => {
  assertEquals(await outputOf(script("memfd:ibverbs")), "0");
});

Deno.test("a Worker that has waited for a descriptor leaves no other one behind", async () => {
  assertEquals(await outputOf(script("eventfd")), "0");
});

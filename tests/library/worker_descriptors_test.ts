// What a Worker that has ended leaves in the process.
import { assertEquals } from "@std/assert";
import { outputOf } from "../subprocess.ts";

const url = (path: string): string => JSON.stringify(import.meta.resolve(`../../ffi/${path}`));

/** Binds a verb through thunks, waits for a descriptor, and ends. */
const WORKER = `
  import { bindAll } from ${url("library.ts")};
  import { watchDescriptor } from ${url("../wait/descriptors.ts")};
  import { libc } from ${url("libc.ts")};
  bindAll();
  const fd = libc().eventfd(1, 0);
  watchDescriptor(fd, "held", () => {
    libc().close(fd);
    setTimeout(() => {
      globalThis.postMessage("waited");
      globalThis.close();
    });
  });`;

/** How a Worker of a source is made that calls back with its message. */
const MAKERS = {
  Deno: `new Worker(source, { type: "module" }).onmessage = resolve`,
  Node: `new NodeWorker(new URL(source)).on("message", resolve)`,
} as const;

/** Runs Workers one after the other, and prints how many descriptors of a kind the last five have added. */
function script(kind: string, maker: keyof typeof MAKERS = "Deno"): string {
  return `
    import { Worker as NodeWorker } from "node:worker_threads";
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
      await new Promise((resolve) => ${MAKERS[maker]});
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

for (const maker of ["Deno", "Node"] as const) {
  Deno.test(`a Worker of ${maker} that has waited for a descriptor leaves no other one behind`, async () => {
    assertEquals(await outputOf(script("eventfd", maker)), "0");
  });
}

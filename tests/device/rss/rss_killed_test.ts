// A process that is killed while it holds work queues, tables and queue pairs leaves nothing behind.
import { assertEquals } from "@std/assert";
import { until } from "../setup.ts";
import { alive, stubTest } from "../stub.ts";

/** Starts a process that holds objects, and comes back once it does. */
async function startHolder(): Promise<Deno.ChildProcess> {
  const script = new URL("./rss_holder.ts", import.meta.url).pathname;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", "--quiet", "--no-check", "--no-config", script],
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  assertEquals(new TextDecoder().decode(value), "ready\n");
  reader.releaseLock();
  return child;
}

stubTest("A killed process leaves no work queue, table or queue pair behind", async () => {
  const child = await startHolder();
  const { wqs, tables, qps, cqs, mrs, contexts } = alive();
  assertEquals({ wqs, tables, qps, cqs, mrs, contexts }, {
    wqs: 8,
    tables: 2,
    qps: 3,
    cqs: 1,
    mrs: 1,
    contexts: 1,
  });
  child.kill("SIGKILL");
  assertEquals((await child.status).signal, "SIGKILL");
  await child.stdout.cancel();
  await until("nothing is alive", () => Object.values(alive()).every((count) => count === 0));
});

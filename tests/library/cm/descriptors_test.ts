// librdmacm that finds no device because no descriptor is left. A process of its own has the limit.
import { assertEquals } from "@std/assert";
import { outputOf } from "../../subprocess.ts";

const [FAKE, CM] = ["./fake.ts", "../../../cm.ts"].map((file) =>
  JSON.stringify(import.meta.resolve(file))
);

/** Calls all that opens files of devices, with descriptors and without, and prints what the hints say. */
const SCRIPT = `
  import { FakeBed } from ${FAKE};
  import { CmId, EventChannel } from ${CM};
  using bed = new FakeBed();
  const { net } = bed;
  const calls = {
    rdma_create_event_channel: () => new EventChannel(),
    rdma_create_id: () => new CmId(net.channel),
  };
  async function tell() {
    for (const [name, call] of Object.entries(calls)) {
      net.takeCalls();
      net.fail(name, 19);
      try {
        await call();
      } catch (error) {
        console.log(name, error.code, error.hint.split(",")[0]);
      }
    }
  }
  await tell();
  const files = [];
  try {
    while (true) files.push(Deno.openSync("/dev/null"));
  } catch { /* none is left */ }
  await tell();
  for (const file of files) file.close();
  Deno.exit(0);`;

Deno.test("All that opens devices for librdmacm tells if no descriptor is left, and not that there is no device", async () => {
  const lines = await outputOf(SCRIPT, { prefix: ["prlimit", "--nofile=128"], importMap: true });
  const names = ["create_event_channel", "create_id"];
  const said = (hint: string): string[] => names.map((name) => `rdma_${name} ENODEV ${hint}`);
  assertEquals(lines.split("\n"), [
    ...said("There must be an RDMA device"),
    ...said("No file descriptor is left"),
  ]);
});

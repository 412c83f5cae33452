// Hosts of two devices, one of which cannot be opened or does not answer: commands show the other one.
import { assertEquals, assertStringIncludes } from "@std/assert";
import { LinkLayer } from "../../../mod.ts";
import * as recorder from "../../../tests/provider/recorder.ts";
import { type Ran, ran } from "../pure/terminal.ts";

/** How a command ends on a host of two devices, after `stage` has done something to the first one. */
async function ending(stage: () => void, ...args: string[]): Promise<Ran> {
  recorder.reset();
  recorder.setDevices(2);
  recorder.answer("ibv_query_port", { link_layer: LinkLayer.ETHERNET });
  stage();
  const ending = await ran(args);
  recorder.setDevices(1);
  return ending;
}

const closed = (): void => recorder.fail("ibv_open_device", "EACCES", { times: 1 });

for (
  const [status, ...args] of [
    [1, "gids"],
    [1, "gids", "--json"],
    [1, "devinfo"],
    [0, "watch", "-c", "1"],
  ] as const
) {
  Deno.test(`${args.join(" ")} shows the devices that can be opened, and why one cannot`, async () => {
    const { out, err, ...ended } = await ending(closed, ...args);
    assertStringIncludes(out, "recorder1");
    assertEquals([ended.status, out.includes("recorder0")], [status, false]);
    assertStringIncludes(
      err,
      `${args[0]}: Cannot open device "recorder0": ibv_open_device gave EACCES`,
    );
  });
}

Deno.test("doctor looks at the devices that can be opened, and says why one cannot", async () => {
  const { out } = await ending(closed, "doctor", "-n", "0");
  assertStringIncludes(
    out,
    ': recorder0: Cannot open device "recorder0": ibv_open_device gave EACCES',
  );
  assertStringIncludes(out, " recorder1 port 1  ACTIVE");
});

Deno.test("gids fails with the reason if no device can be opened", async () => {
  const none = (): void => recorder.fail("ibv_open_device", "EACCES", { times: 2 });
  const { status, out, err } = await ending(none, "gids");
  assertEquals([status, out, err.match(/^gids: .*EACCES/gm)?.length], [1, "", 2], err);
});

Deno.test("gids shows the ports that answer, and why one does not", async () => {
  const silent = (): void => recorder.fail("___ibv_query_port", "EIO", { times: 1 });
  const { status, out, err } = await ending(silent, "gids");
  assertEquals([status, out.includes("recorder0"), out.includes("recorder1")], [1, false, true]);
  assertStringIncludes(err, "gids: Cannot query port 1");
});

Deno.test("watch goes on when a device goes, and says so", async () => {
  const going = (): void => {
    setTimeout(() => recorder.hangUp("context0"), 0);
  };
  const { status, out, err } = await ending(going, "watch", "-c", "2");
  assertEquals([status, out.includes("recorder1")], [0, true]);
  assertStringIncludes(err, "watch: ");
});

Deno.test("a ping-pong and perf use the first device that can be opened, and say why", async () => {
  for (const args of [["pingpong", "rc"], ["perf"]]) {
    // Nobody listens there: the command ends when it has opened the device.
    const stage = (): void => {
      closed();
      recorder.connect();
    };
    const { err } = await ending(stage, ...args, "-p", "1", "-g", "1", "127.0.0.1");
    assertStringIncludes(
      err,
      `${args[0]}: Cannot open device "recorder0": ibv_open_device gave EACCES`,
    );
    assertStringIncludes(err, "TCP port 1: Connection refused");
  }
});

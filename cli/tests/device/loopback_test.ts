// What commands say of a soft-RoCE device on the loopback interface.
import { assertEquals, assertMatch } from "@std/assert";
import { Context } from "../../../mod.ts";
import { addDevice } from "../../../tests/device/links.ts";
import { deviceTest, PORT, until } from "../../../tests/device/setup.ts";
import { cli } from "./cli.ts";

const DEVICE = "rxe_loopback";

deviceTest(
  "gids and doctor say that a device on the loopback interface reaches this host only",
  async () => {
    await using stack = new AsyncDisposableStack();
    await addDevice(stack, DEVICE, "lo");
    const hasGids = (): boolean => {
      using context = Context.open(DEVICE);
      return context.queryGidTable(PORT).length >= 3;
    };
    await until("the GIDs of the loopback interface", hasGids);
    const gids = await cli("gids", "-d", DEVICE);
    assertMatch(
      gids.stdout,
      /port 1: index \d+\. RoCE v2 on the loopback interface: it reaches this/,
    );
    const { code, stdout } = await cli("doctor", "-d", DEVICE, "-n", "0");
    assertMatch(stdout, /^warning: rxe_loopback port 1: its only address is ::ffff:127\.0\.0\.1, /);
    assertEquals(code, 1);
  },
);

// What tests of the net module have on the recorder, which moves the data in place of a device.
import { assertEquals } from "@std/assert";
import { nextTurn } from "../../../internal/turns.ts";
import { LinkLayer } from "../../../mod.ts";
import { bed } from "../../device/bed.ts";
import * as recorder from "../../provider/recorder.ts";

bed.device = "recorder0";
bed.test = (name, body) =>
  Deno.test(name, async () => {
    recorder.reset();
    recorder.answer("ibv_query_port", { link_layer: LinkLayer.ETHERNET });
    recorder.connect();
    await body();
    // Loops of the library that have just ended may have asked for a turn, which may be a timer.
    await nextTurn();
    assertEquals([recorder.violations(), recorder.live()], [[], 0]);
  });

// Not before: they look for the device when they are imported.
export const { deviceTest: netTest, gidOf, openRxe, PORT, QKEY, RXE, until } = await import(
  "../../device/setup.ts"
);
export const { bytes, connectTimeout, peerAddress, rcPair, text } = await import(
  "../../device/net/rc_pair.ts"
);

// Examples whose ends meet over TCP, and that of Workers, on a device of native speed.
import "../shm_device.ts";

// Not before: it looks for the device.
const { testAlone, testBothEnds } = await import("../../device/examples/ladder.ts");

testAlone("workers");
testBothEnds();

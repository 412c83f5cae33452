// perf measures between two processes, on a device of native speed.
import "../../../tests/library/shm_device.ts";

// Not before: it looks for the device.
const { testPerf } = await import("../device/perf_pair.ts");

testPerf("rc", "send", 3000, 2);
testPerf("uc", "send", 100, 1);
testPerf("ud", "send", 100, 3);
testPerf("rc", "write", 3000, 2);
testPerf("rc", "read", 3000, 2);

// perf measures on rxe. The library tests have the other kinds of queue pairs and operations.
import { testPerf } from "./perf_pair.ts";

testPerf("rc", "send", 3000, 2);

// Queue pairs by ibv_create_qp_ex: what reaches the kernel, what is refused, and what an RSS queue pair cannot do.
import { assertEquals } from "@std/assert";
import { QpState } from "../../../mod.ts";
import {
  assertFails,
  calls,
  ETHERNET_PORT,
  hashOverAll,
  makeRss,
  openBench,
  stubTest,
} from "../stub.ts";

stubTest("An RSS queue pair goes to RTR on its port and no further", () => {
  using bench = openBench();
  const qp = makeRss(bench, hashOverAll());
  assertEquals(qp.state, QpState.RTR);
  assertEquals(calls("modify_qp").map((call) => call.port_num), [ETHERNET_PORT, 0]);
  assertFails(() => qp.modify({ qpState: QpState.RTS }), "ibv_modify_qp", "EOPNOTSUPP");
});

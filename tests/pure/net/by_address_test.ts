import { assertEquals } from "@std/assert";
import { CmError, CmEventType } from "../../../cm.ts";
import { isAbsent } from "../../../net/rc/by_address.ts";

Deno.test("isAbsent() distinguishes a host where nobody listens from a listener that refuses", () => {
  const refused = (status: number): CmError =>
    new CmError("Cannot connect", CmEventType.REJECTED, status);
  assertEquals([8, 28].map((status) => isAbsent(refused(status))), [true, false]);
  assertEquals(isAbsent(new Error("Connection refused")), true);
});

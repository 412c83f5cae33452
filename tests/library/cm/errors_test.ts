// What the errors of connection events say.
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { stub } from "@std/testing/mock";
import { CmError, CmEventType, getAddrInfo } from "../../../cm.ts";
import { nonblockingRdmacm } from "../../../ffi/rdmacm.ts";
import { eventError } from "../../../types/cm/errors.ts";

const TYPE = CmEventType;

// It opens a library, which stays open.
errorOf(TYPE.REJECTED, -1);

function errorOf(type: CmEventType, status: number, exists = false): CmError {
  return eventError("connect", { event: type, status }, exists);
}

Deno.test("an error of an event names the event and a likely cause", () => {
  const cases = [
    [TYPE.ADDR_ERROR, -110, "ADDR_ERROR (ETIMEDOUT: ", "does not answer ARP"],
    [TYPE.ADDR_ERROR, -113, "EHOSTUNREACH", "does not answer ARP"],
    [TYPE.ADDR_ERROR, -101, "ENETUNREACH", "no route"],
    [TYPE.ADDR_ERROR, -19, "ENODEV", "no RDMA device"],
    [TYPE.ROUTE_ERROR, -110, "ROUTE_ERROR", "subnet manager"],
    [TYPE.UNREACHABLE, -110, "UNREACHABLE", "UDP port 4791"],
    [TYPE.UNREACHABLE, 2, "UNREACHABLE (2: ", "does not want it"],
    [TYPE.REJECTED, -111, "ECONNREFUSED", "nobody listens"],
    [TYPE.REJECTED, 8, "REJECTED (8: ", "nobody listens"],
    [TYPE.CONNECT_ERROR, -22, "CONNECT_ERROR (EINVAL: ", "Invalid argument)"],
    [TYPE.REJECTED, 34, "(status 34)", ""],
    [TYPE.ADDRINFO_ERROR, 2, "ADDRINFO_ERROR (ENOENT: ", "No such file"],
    [TYPE.DEVICE_REMOVAL, 0, "(status 0)", ""],
  ] as const;
  for (const [type, status, start, cause] of cases) {
    const { message, event, hint } = errorOf(type, status);
    assertStringIncludes(message, start);
    assertStringIncludes(message, cause);
    assertEquals(event, type);
    if (hint !== undefined) assert(message.endsWith(`${hint})`));
    // The text of errno is no hint.
    const isKnown = !["", "No such file", "Invalid argument)"].includes(cause);
    assertEquals(hint !== undefined, isKnown, message);
  }
});

Deno.test("each reason of a rejection has words of its own", () => {
  // Those that Linux has, of which 34 is not used.
  const reasons = Array.from({ length: 35 }, (_, i) => i + 1).filter((reason) => reason !== 34);
  const words = reasons.map((reason) => errorOf(TYPE.REJECTED, reason).message);
  assert(words.every((text) => !text.includes("status")));
  const own = new Set(words.map((text) => text.split(": ").at(-1)));
  assertEquals(own.size, reasons.length);
  for (const text of own) assertMatch(text!, /the (peer|number|options)|nobody listens/);
});

Deno.test("getAddrInfo() says in words what getaddrinfo(3) returns", async () => {
  const words: Record<number, string> = {
    [-2]: "the name or the service is not known",
    [-3]: "the name server does not answer now",
    [-4]: "the name server has failed",
    [-5]: "the name has no address",
    [-6]: "there are no addresses of this family",
    [-8]: "the service is not known for this port space",
    [-11]: "getaddrinfo gives -11",
  };
  for (const [value, reason] of Object.entries(words)) {
    const answer = { value: Number(value), errno: 0 };
    using _failing = stub(nonblockingRdmacm(), "rdma_getaddrinfo", () => Promise.resolve(answer));
    const { message, status, hint } = await assertRejects(() => getAddrInfo("host"), CmError);
    assertEquals([message.split(": ").at(-1), status], [reason, Number(value)]);
    assertEquals(hint, value === "-11" ? undefined : reason);
  }
});

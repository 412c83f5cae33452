// Socket addresses in the structs of C.
import { assertEquals } from "@std/assert";
import { readSockaddr, sockaddrOf } from "../../../types/cm/socket_address.ts";

Deno.test("readSockaddr() gives what sockaddrOf() was given, and no network interface where none is named", () => {
  for (
    const address of [
      { hostname: "10.0.0.1", port: 7471 },
      { hostname: "fd00::1", port: 0 },
      { hostname: "fe80::1", port: 65535, scopeId: 3 },
    ]
  ) assertEquals(readSockaddr(sockaddrOf(address)), address);
});

import { assertEquals, assertThrows } from "@std/assert";
import { stub } from "@std/testing/mock";
import type { Context } from "../../../../mod.ts";
import { RXE } from "../../setup.ts";

/** The functions of the snippet. */
export interface Snippet {
  open(name: string): Context | undefined;
}

/** Opens a device, and one that does not exist. */
export default function call({ open }: Snippet): void {
  using error = stub(console, "error");
  {
    using context = open(RXE);
    assertEquals(context?.device.name, RXE);
  }
  assertThrows(() => open("none"), Deno.errors.NotFound);
  assertEquals(error.calls, []);
}

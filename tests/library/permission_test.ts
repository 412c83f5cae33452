import { assertEquals, assertThrows } from "@std/assert";
import { stub } from "@std/testing/mock";
import { askForFfi } from "../../ffi/permission.ts";

type Name = Deno.PermissionDescriptor & { readonly path?: string };

/** Runs with one state for all libraries and another for each path, and an answer; returns how often it asked. */
function asked(all: Deno.PermissionState, path: Deno.PermissionState, answer = all): number {
  let count = 0;
  const status = (state: Deno.PermissionState): Deno.PermissionStatus => ({ state }) as never;
  using _query = stub(
    Deno.permissions,
    "querySync",
    (name) => status((name as Name).path === undefined ? all : path),
  );
  using _request = stub(Deno.permissions, "requestSync", () => {
    count++;
    return status(answer);
  });
  askForFfi(["/a", "/b"]);
  return count;
}

Deno.test("askForFfi() asks once, and not for what it has", () => {
  assertEquals(asked("granted", "granted"), 0);
  assertEquals(asked("prompt", "prompt", "granted"), 1);
});

Deno.test("askForFfi() tells a permission for paths from none", () => {
  const { NotCapable } = Deno.errors;
  assertThrows(() => asked("denied", "denied"), NotCapable, "which it does not have: run again");
  assertThrows(() => asked("prompt", "granted"), NotCapable, "not only to some paths");
});

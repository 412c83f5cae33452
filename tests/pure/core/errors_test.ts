import { assertEquals } from "@std/assert";
import { libc } from "../../../ffi/libc.ts";
import { checked, failure, VerbsError } from "../../../types/core/errors.ts";

// names of errno values are the C library's
libc();

const EINVAL = 22;
const ENOMEM = 12;

Deno.test("VerbsError names errno values that the system does not know by number", () => {
  assertEquals(new VerbsError("v", "act", 9999).code, "errno 9999");
});

Deno.test("VerbsError.notSupported distinguishes what the device cannot do from what went wrong", () => {
  const [EOPNOTSUPP, ENOSYS] = [95, 38];
  const notSupported = (errno: number) => new VerbsError("v", "act", errno).notSupported;
  assertEquals([EOPNOTSUPP, ENOSYS, EINVAL, 0].map(notSupported), [true, true, false, false]);
});

Deno.test("failure() carries how many requests went through", () => {
  assertEquals(failure("ibv_post_send", "post send", ENOMEM, { posted: 3 }).posted, 3);
  assertEquals(failure("ibv_post_send", "post send", ENOMEM).posted, undefined);
});

Deno.test("failure() asks for a hint by the code, and does without when that fails too", () => {
  const hint = (code: string): string => {
    if (code === "EINVAL") return `it was ${code}`;
    throw new RangeError("the device is gone");
  };
  const hintOf = (errno: number) => failure("ibv_x", "do it", errno, { hint }).hint;
  assertEquals([hintOf(EINVAL), hintOf(ENOMEM)], ["it was EINVAL", undefined]);
});

Deno.test("checked() takes whatever a function gives that cannot fail", () => {
  for (const result of [undefined, null, -1, -2_000_000_000]) {
    assertEquals(checked("x", { fails: "never" }, result, "end", {}), result);
  }
});

/** The permission that the library needs. */

const WHY = "@rdma/ibverbs asks for ffi: it calls libibverbs and the C library.\n";

/**
 * Asks for `--allow-ffi` for all libraries at once, if it is not given and somebody can answer.
 *
 * @param paths Libraries that a list of paths may name.
 * @throws {Deno.errors.NotCapable} Without the permission, or with one that is narrowed to paths.
 */
export function askForFfi(paths: readonly string[]): void {
  const { state } = Deno.permissions.querySync({ name: "ffi" });
  if (state === "granted") return;
  const isNarrowed = paths.some((path) =>
    Deno.permissions.querySync({ name: "ffi", path }).state === "granted"
  );
  if (state === "prompt" && Deno.stdin.isTerminal() && Deno.stderr.isTerminal()) {
    Deno.stderr.writeSync(new TextEncoder().encode(WHY));
  }
  if (Deno.permissions.requestSync({ name: "ffi" }).state === "granted") return;
  const reason = isNarrowed ? "not only to some paths" : "which it does not have";
  throw new Deno.errors.NotCapable(
    `Requires ffi access to all libraries, ${reason}: run again with --allow-ffi`,
  );
}

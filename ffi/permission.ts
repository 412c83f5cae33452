/** The permission that the library needs. */

const WHY = "@rdma/ibverbs asks for ffi: it calls libibverbs and the C library.\n";

/** Deno 2.9 declares no `partial` of a status: some of what is asked for is denied. */
type Status = Deno.PermissionStatus & { readonly partial?: boolean };

/**
 * Asks for `--allow-ffi` for all libraries at once, if it is not given and somebody can answer. Deno calls through pointers
 * only with the permission for all.
 *
 * @throws {Deno.errors.NotCapable} Without the permission, or with one that is narrowed to paths, or denied for some.
 */
export function askForFfi(): void {
  const { state, partial } = ffiStatus();
  if (state === "granted" && !partial) return;
  if (state === "prompt" && Deno.stdin.isTerminal() && Deno.stderr.isTerminal()) {
    Deno.stderr.writeSync(new TextEncoder().encode(WHY));
  }
  if (!partial && Deno.permissions.requestSync({ name: "ffi" }).state === "granted") return;
  throw new Deno.errors.NotCapable(
    partial || state === "denied"
      ? `Requires ffi access to all libraries, and it is denied for ${
        partial ? "some" : "all"
      }: run again with --allow-ffi and without --deny-ffi`
      : "Requires ffi access to all libraries: run again with --allow-ffi, without a list of paths",
  );
}

/** Whether the permission was given. This asks nobody. */
export function hasFfi(): boolean {
  const { state, partial } = ffiStatus();
  return state === "granted" && !partial;
}

function ffiStatus(): Status {
  return Deno.permissions.querySync({ name: "ffi" });
}

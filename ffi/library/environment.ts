/**
 * An environment variable, where the permission to read it has been given already: the library asks for none but
 * `--allow-ffi`, and never prompts.
 */
export function environment(variable: string): string | undefined {
  const { state } = Deno.permissions.querySync({ name: "env", variable });
  return state === "granted" ? Deno.env.get(variable) : undefined;
}

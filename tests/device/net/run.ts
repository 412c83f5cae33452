/** Runs a command of the system. */
export function run(command: string, ...args: string[]): void {
  const { success, stderr } = new Deno.Command(command, { args }).outputSync();
  if (success) return;
  const reason = new TextDecoder().decode(stderr);
  throw new Error(`Cannot run ${command} ${args.join(" ")}: ${reason}`);
}

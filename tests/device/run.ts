/**
 * Runs a program of the system that changes its network. The event loop goes on meanwhile: a device
 * is taken away only when this process has closed it, which can wait for a call on another thread.
 */
export async function run(command: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(command, { args }).output();
  if (success) return;
  throw new Error(`Cannot run ${command} ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
}

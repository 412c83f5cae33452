/** What a stage runs on. */

/** The machine and the software of a stage, for the results. */
export interface Environment {
  readonly kernel: string;
  readonly rdmaCore: string;
  readonly deno: string;
  readonly v8: string;
  readonly processor: string;
  readonly cores: number;
  /** "kvm" or "tcg" in the guest, "none" on the host. */
  readonly accelerator: "kvm" | "tcg" | "none";
}

export async function environment(inGuest: boolean): Promise<Environment> {
  const processor = Deno.readTextFileSync("/proc/cpuinfo").match(/^model name\s*: (.*)$/m)?.[1];
  return {
    kernel: Deno.osRelease(),
    rdmaCore: await firstLine("dpkg-query", "-W", "-f=${Version}", "libibverbs1"),
    deno: Deno.version.deno,
    v8: Deno.version.v8,
    processor: processor ?? "unknown",
    cores: navigator.hardwareConcurrency,
    accelerator: !inGuest ? "none" : hasKvmClock() ? "kvm" : "tcg",
  };
}

/** Only KVM offers its guests this clock. */
function hasKvmClock(): boolean {
  const clocks = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
  return Deno.readTextFileSync(clocks).includes("kvm-clock");
}

/** The commit that is measured; with "+" if files differ from it. */
export async function commit(folder: string): Promise<string> {
  const hash = await firstLine("git", "-C", folder, "rev-parse", "--short=12", "HEAD");
  const changes = await firstLine("git", "-C", folder, "status", "--porcelain", "-uno");
  return changes === "" ? hash : `${hash}+`;
}

async function firstLine(program: string, ...args: string[]): Promise<string> {
  try {
    const { success, stdout } = await new Deno.Command(program, { args, stderr: "null" }).output();
    return success ? new TextDecoder().decode(stdout).split("\n")[0]!.trim() : "unknown";
  } catch {
    return "unknown";
  }
}

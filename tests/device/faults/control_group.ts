import { run } from "../run.ts";
import { RXE } from "../setup.ts";

/** A control group that limits how many objects of the soft-RoCE device its processes may have. */
export interface ControlGroup extends AsyncDisposable {
  /** Sets the limits, such as `hca_object=20`. */
  limit(limits: string): void;
  /** Calls back while this process is in the group. */
  inside<T>(body: () => T): T;
  /** A command that starts another process in the group. */
  readonly prefix: readonly string[];
}

/** Makes a control group; disposing it takes it away, and waits until it is empty. */
export async function controlGroup(): Promise<ControlGroup> {
  const root = await Deno.makeTempDir();
  await run("mount", "-t", "cgroup2", "none", root);
  const group = `${root}/faults`;
  const join = (path: string): void =>
    Deno.writeTextFileSync(`${path}/cgroup.procs`, String(Deno.pid));
  Deno.writeTextFileSync(`${root}/cgroup.subtree_control`, "+rdma");
  Deno.mkdirSync(group);
  const limit = (limits: string): void =>
    Deno.writeTextFileSync(`${group}/rdma.max`, `${RXE} ${limits}`);
  return {
    limit,
    inside: (body) => {
      join(group);
      try {
        return body();
      } finally {
        join(root);
      }
    },
    prefix: ["sh", "-c", `echo $$ >${group}/cgroup.procs && exec "$@"`, "sh"],
    [Symbol.asyncDispose]: async () => {
      // Linux keeps the limits of a group that is removed in a list, which it damages when the device goes away.
      limit("hca_handle=max hca_object=max");
      Deno.removeSync(group);
      await run("umount", root);
      await Deno.remove(root);
    },
  };
}

// The objects that the kernel holds for each device. A process for each question would cost more than most tests, where
// the processor is emulated: one process answers all.

const DEVICES = "/sys/class/infiniband";

/** Kernel objects of one device, by kind (`pd`, `cq`, `qp`, `mr`, `ctx`, ...). Address handles are not counted. */
export type ResourceCounts = Readonly<Record<string, number>>;

/** `rdma` in batch mode: it answers each line that is written with a list. */
interface Batch {
  readonly questions: Deno.FsFile;
  readonly answers: Deno.FsFile;
  /** The devices it knows: those that there were when it started. */
  readonly devices: string;
}

let batch: Batch | undefined;

/**
 * How many objects the kernel holds (`rdma resource show`), by device.
 *
 * The first call keeps files open: it must come before the tests, where the resource sanitizer does not look.
 */
export function resourceCounts(): Record<string, ResourceCounts> {
  batch ??= startBatch();
  const text = batch.devices === devices() ? askBatch(batch) : askOnce();
  const links = JSON.parse(text) as ({ ifindex: number; ifname: string } & ResourceCounts)[];
  return Object.fromEntries(links.map(({ ifindex: _, ifname, ...counts }) => [ifname, counts]));
}

function devices(): string {
  return [...Deno.readDirSync(DEVICES)].map(({ name }) => name).sort().join();
}

/** Named pipes, because those of a child process can only be read asynchronously. */
function startBatch(): Batch {
  const folder = Deno.makeTempDirSync();
  const script =
    `mkfifo questions answers; (stdbuf -oL rdma -j -b - <questions >answers) 2>/dev/null &`;
  new Deno.Command("sh", { args: ["-c", script], cwd: folder, stdout: "null", stderr: "null" })
    .outputSync();
  const questions = Deno.openSync(`${folder}/questions`, { write: true });
  const answers = Deno.openSync(`${folder}/answers`, { read: true });
  Deno.removeSync(folder, { recursive: true });
  return { questions, answers, devices: devices() };
}

function askBatch({ questions, answers }: Batch): string {
  questions.writeSync(new TextEncoder().encode("resource show\n"));
  const buffer = new Uint8Array(4096);
  let text = "";
  // Newer versions answer by several lines.
  while (!text.endsWith("]\n")) {
    const count = answers.readSync(buffer);
    if (count === null) throw new Error("Cannot count resources: rdma has ended");
    text += new TextDecoder().decode(buffer.subarray(0, count));
  }
  return text;
}

function askOnce(): string {
  const args = ["-j", "resource", "show"];
  const { success, stdout, stderr } = new Deno.Command("rdma", { args }).outputSync();
  if (!success) throw new Error(`Cannot count resources: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout);
}

/** Processor time of a process in nanoseconds: of all threads that it has. */
export function processorTime(pid: number): number {
  const folder = `/proc/${pid}/task`;
  let sum = 0;
  for (const { name } of Deno.readDirSync(folder)) {
    sum += Number(Deno.readTextFileSync(`${folder}/${name}/schedstat`).split(" ")[0]);
  }
  return sum;
}

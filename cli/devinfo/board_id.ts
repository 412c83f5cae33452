import { readSysfs } from "../sysfs.ts";

/** The board's name, which only the kernel knows. It is undefined if there is none, or if the program may not read it. */
export function boardId(device: string): string | undefined {
  return readSysfs(`class/infiniband/${device}/board_id`);
}

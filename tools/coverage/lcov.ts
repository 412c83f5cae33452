/** Lines that ran, from a report of `deno coverage --lcov`. */

/** Lines with code, and those of them that ran. */
export interface Lines {
  readonly run: number;
  readonly all: number;
}

/** The lines of each folder, by the first part of a file's path below `root`. */
export function linesOfFolders(lcov: string, root: string): Record<string, Lines> {
  const folders: Record<string, { run: number; all: number }> = {};
  for (const record of lcov.split("end_of_record")) {
    const [file = ""] = /(?<=^SF:).*$/m.exec(record) ?? [];
    if (!file.startsWith(`${root}/`)) continue;
    const lines = folders[file.slice(root.length + 1).split("/", 1)[0]!] ??= { run: 0, all: 0 };
    for (const [, count] of record.matchAll(/^DA:\d+,(\d+)/gm)) {
      lines.all++;
      if (Number(count) > 0) lines.run++;
    }
  }
  return folders;
}

/** Floors in percent, by folder. */
export type Floors = Readonly<Record<string, number>>;

/** The share of lines that ran, in percent, rounded down to a tenth. */
export function percent({ run, all }: Lines): number {
  return Math.floor(1000 * run / all) / 10;
}

/** Folders below their floor, in words. A folder of which nothing was loaded is one. */
export function belowFloor(folders: Readonly<Record<string, Lines>>, floors: Floors): string[] {
  return Object.entries(floors).flatMap(([folder, floor]) => {
    const share = percent(folders[folder] ?? { run: 0, all: 1 });
    return share >= floor ? [] : [`${folder}/: ${share} % of the lines ran, ${floor} % must`];
  });
}

/** The table as Markdown. */
export function tableOf(folders: Readonly<Record<string, Lines>>, floors: Floors): string {
  const rows = Object.entries(floors).map(([folder, floor]) => {
    const lines = folders[folder] ?? { run: 0, all: 0 };
    return `| \`${folder}/\` | ${lines.all} | ${percent(lines)} % | ${floor} % |`;
  });
  const head = "| folder | lines with code | run by tests | floor |\n| --- | --- | --- | --- |";
  return `${head}\n${rows.join("\n")}\n`;
}

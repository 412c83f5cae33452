/** Mutants of rxe: its command line and the machine that it asks for. */

import type { MutantsOf } from "../mutant.ts";

export const RXE: readonly MutantsOf[] = [
  {
    file: "rxe/command_line.ts",
    tests: ["pure/rxe/command_line"],
    mutants: [
      {
        id: "rxe-forward-range",
        replace: "    if (Number(host) > 65535 || Number(guest) > 65535) return undefined;\n",
        by: "",
        wrong: "A port above 65535 reaches QEMU.",
      },
      {
        id: "rxe-forward-protocol",
        replace: 'protocol: protocol as "tcp" | "udp"',
        by: 'protocol: "tcp"',
        wrong: "A port of UDP leads to one of TCP.",
      },
      {
        id: "rxe-env-equals",
        replace: "(?:=(.*))?$/s",
        by: "(?:=([^=]*))?$/s",
        wrong: "A variable whose value has an equals sign is refused.",
      },
      {
        id: "rxe-env-unset",
        replace: "found === undefined ? undefined : [name, found]",
        by: '[name, found ?? ""]',
        wrong: "A variable that is not set is empty in the guest.",
      },
      {
        id: "rxe-share-relative",
        replace: "share.map((path) => resolve(path))",
        by: "share",
        wrong: "A folder is shared from another current folder.",
      },
      {
        id: "rxe-second-command",
        replace: "commands.some((command) => command.length === 0)",
        by: "commands[0]!.length === 0",
        wrong: "The second host starts without a command.",
      },
    ],
  },
  {
    file: "rxe/host/options.ts",
    tests: ["pure/rxe/command_line"],
    mutants: [
      {
        id: "options-many",
        replace: "[...(options[token.name] as unknown[] | undefined) ?? [], value]",
        by: "[value]",
        wrong: "Of an option that is given several times only the last value counts.",
      },
      {
        id: "options-positive",
        replace: "/^[1-9]\\d{0,8}$/",
        by: "/^\\d{1,9}$/",
        wrong: "A number of 0 is taken.",
      },
      {
        id: "options-one-of",
        replace: "words.find((word) => word === text)",
        by: "words.find((word) => word.startsWith(text)) ?? words[0]",
        wrong: "A word that is none of the choices is taken for one.",
      },
      {
        id: "options-operands",
        replace: "if (extra === undefined) return options;",
        by: "return options;",
        wrong: "Words that mean nothing are ignored.",
      },
      {
        id: "options-unknown",
        replace: "if (option === undefined) throw",
        by: "if (false) throw",
        wrong: "An option that does not exist is not named.",
      },
    ],
  },
  {
    file: "rxe/guest/qemu.ts",
    tests: ["pure/rxe/guest"],
    mutants: [
      {
        id: "qemu-loopback",
        replace: "hostfwd=${protocol}:127.0.0.1:${host}",
        by: "hostfwd=${protocol}::${host}",
        wrong: "Ports of the guest are open to the network of the host.",
      },
      {
        id: "qemu-no-network",
        replace: "forwards.length === 0 ? [] :",
        by: "",
        wrong: "Every guest has a network.",
      },
      {
        id: "qemu-restrict",
        replace: '"restrict=on", ',
        by: "",
        wrong: "The guest reaches the network of the host.",
      },
    ],
  },
  {
    file: "rxe/guest/lost.ts",
    tests: ["pure/rxe/guest"],
    mutants: [
      {
        id: "lost-cwd",
        replace: "(isIn(path, [cwd]) || !isIn(path, TEMPORARY))",
        by: "!isIn(path, TEMPORARY)",
        wrong: "Files that are lost in a folder below /tmp are not named.",
      },
      {
        id: "lost-scratch",
        replace: "!isIn(path, scratch) && ",
        by: "",
        wrong: "Files that can be made again are named.",
      },
    ],
  },
];

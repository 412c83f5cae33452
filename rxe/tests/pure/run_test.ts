// Runs of commands in guests, with a program in QEMU's place: what the host makes of each way in which a guest behaves.

import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { runCommandLine } from "../../command_line.ts";
import { GuestError } from "../../guest/machine.ts";
import { ensureGuest } from "../../guest/parts.ts";
import { type GuestOptions, runInGuest, runOnTwoHosts } from "../../guest/run.ts";
import type { Source } from "../../guest/streams.ts";
import { SetupError } from "../../host/report.ts";
import { DEBIAN } from "./debian.ts";
import { comesUp, ends, play, type Played, type Step, step } from "./machines.ts";
import { programs } from "./programs.ts";

const ignore = Deno.build.arch !== "x86_64";

function test(name: string, fn: () => Promise<void>): void {
  // There is no guest for other processors.
  Deno.test({ name, ignore, fn });
}

/** The files of an initial RAM disk that hold no program and no module. */
const FOLDERS = ["bin", "modules", "programs", "proc", "sys", "dev", "host"];
const TEXTS = ["modules.order", "shares", "guest.env", "command.sh", "TRAILER!!!"];

function source(name: string): string {
  return Deno.readTextFileSync(new URL(`../../${name}`, import.meta.url));
}

test("runInGuest() passes on the output, the status, the log, and which files are lost", async () => {
  const share = await Deno.makeTempDir();
  let log: unknown;
  const steps = comesUp(
    step("out", "to the "),
    step("err", "a complaint"),
    step("out", "output"),
    ends(130, 13, 11, "[1.0] one", `lost /work/a`, "[1.1] two", "lost /work/scratch/b"),
  );
  const { result, stdout, stderr, said, args, left, stages } = await play({ "1": [steps] }, {
    cwd: "/work",
    share: [share, `${share}/new/one`],
    scratch: ["/work/scratch"],
    onKernelLog: (text, host) => log = { text, host },
  });
  assertEquals({ result, stdout, stderr, said, log, left, stages }, {
    result: [130],
    stdout: "to the output",
    stderr: "a complaint",
    said: "guest: a change to a went with the guest; --share keeps a folder\n",
    log: { text: "[1.0] one\n[1.1] two", host: 1 },
    left: [],
    stages: ["starting by emulation", "loading", "the command starts"],
  });
  assertEquals(Deno.statSync(`${share}/new/one`).isDirectory, true);
  assertEquals(Object.keys(args), ["1-1"]);
  assertEquals(args["1-1"]!.filter((word) => word.startsWith("local,")).slice(1), [
    `local,path=${share},mount_tag=share0,security_model=none,multidevs=remap`,
    `local,path=${share}/new/one,mount_tag=share1,security_model=none,multidevs=remap`,
  ]);
  await Deno.remove(share, { recursive: true });
});

test("runInGuest() gives the kernel a shell, modules, and the command with its environment", async () => {
  const share = await Deno.makeTempDir();
  const { initrd, said } = await play({ "1": [comesUp(ends(0, 0, 0))] }, {
    env: { ANSWER: "it's 42" },
    share: [share, `${share}/b`],
  });
  const files = initrd["1-1"]!;
  const modules = files["modules.order"]!.split("\n");
  assertEquals(
    Object.keys(files).sort(),
    [
      ...[...FOLDERS, ...TEXTS, "bin/busybox", "init", "programs/deno"],
      ...modules.map((name) => `modules/${name}`),
    ].sort(),
  );
  for (const name of modules) assertEquals(files[`modules/${name}`]!.slice(1, 4), "ELF");
  const wanted = ["9p", "9pnet_virtio", "virtio_pci", "virtio_console", "overlay", "dummy"]
    .concat("virtio_net", "crc32_generic", "rdma_rxe", "ib_uverbs", "ib_umad", "rdma_ucm");
  assertEquals(wanted.filter((name) => !modules.includes(`${name}.ko`)), []);
  assertEquals(files["init"], source("guest/init.sh"));
  assertEquals(files["programs/deno"], source("guest/deno.sh"));
  assertEquals(files["shares"], `share share0 '${share}'\nshare share1 '${share}/b'\n`);
  assertMatch(
    files["guest.env"]!,
    /^KERNEL='(.*)'\nMODULES='\/.*\/lib\/modules\/\1'\nSTDIN='\/dev\/null'\nTERMINAL=''\nDENO_CACHE='\//,
  );
  assertStringIncludes(
    files["guest.env"]!,
    "'\nHOST='1'\nHOST_NAME='guest'\nLAN=''\nFORWARDED=''\n",
  );
  const [variables, command] = files["command.sh"]!.split("set +a\n");
  assertEquals(
    command,
    `export PATH=/run/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mkdir -p "$HOME"
cd '${Deno.cwd()}' || exit 127
exec 'cat' 'a file'
`,
  );
  assertMatch(variables!, /^set -a\n(\w+='.*'\n)*IBVERBS_GUEST='1'\nANSWER='it'\\''s 42'\n$/);
  assert(!variables!.includes("IBVERBS_HOST"));
  assertEquals(said, "");
  await Deno.remove(share, { recursive: true });
});

test("runInGuest() shares folders and has temporary ones with any characters in their names", async () => {
  const parent = await Deno.makeTempDir();
  const [share, temporary] = [`${parent}/it's , a \n\r `, `${parent}/a,b`];
  await Deno.mkdir(temporary);
  const plan = { "1": [comesUp(ends(0, 0, 0))], "2": [comesUp(ends(0, 0, 0))] };
  const { initrd, args } = await play(plan, { share: [share] }, {
    run: (given) => {
      Deno.env.set("TMPDIR", temporary);
      return runOnTwoHosts([["a"], ["b"]], given);
    },
  });
  assertEquals(
    initrd["1-1"]!["shares"],
    `share share0 '${share.replace("it's", "it'\\''s")}'\n`,
  );
  const options = args["1-1"]!.filter((word) => word.includes("path=") && word.includes(parent));
  // The console, four ports, the share and the network.
  assertEquals(options.length, 7);
  for (const option of options) assertEquals(option.replaceAll(",,", "").includes(",b"), false);
  await Deno.remove(parent, { recursive: true });
});

test("runInGuest() gives the guest the size of a terminal, and two guests none", async () => {
  const terminal = { columns: 101, rows: 33 };
  const ending = [comesUp(ends(0, 0, 0))];
  const { initrd } = await play({ "1": ending }, { terminal });
  assertStringIncludes(initrd["1-1"]!["guest.env"]!, "\nTERMINAL='rows 33 columns 101'\n");
  const both = await play({ "1": ending, "2": ending }, { terminal });
  for (const { "guest.env": settings } of Object.values(both.initrd)) {
    assertStringIncludes(settings!, "\nTERMINAL=''\n");
  }
});

test("runInGuest() gives the guest another userland, and Deno within it", async () => {
  // What all userlands share comes from the host's cache.
  await ensureGuest();
  const cache = await Deno.makeTempDir();
  const ran = await programs(DEBIAN, { IBVERBS_CACHE: cache });
  const { userland } = await ensureGuest({ userland: "12" });
  await ran[Symbol.asyncDispose]();
  const { initrd } = await play({ "1": [comesUp(ends(0, 0, 0))] }, { userland: "12" });
  const { "guest.env": settings, "command.sh": command } = initrd["1-1"]!;
  await Deno.remove(cache, { recursive: true });
  assertStringIncludes(
    settings!,
    `FORWARDED=''\nUSERLAND='${userland}'\nDENO_PROGRAM='${Deno.execPath()}'\n` +
      "SYSTEM_FOLDERS='etc var lib64 lib sbin bin usr'\n",
  );
  assertStringIncludes(command!, "\nDENO='/run/deno'\n");
});

test("runInGuest() gives QEMU a machine with these parts and no other", async () => {
  const options = { processors: 3, memory: 512 };
  const { args } = await play({ "1": [comesUp(ends(0, 0, 0))] }, options);
  const words = args["1-1"]!.map((word) =>
    word.replace(/[^ =,]*\/rxe-guest-\w+/g, "RUN").replace(/[^ ]*\/kernel$/, "KERNEL")
  );
  const text = words.join(" ");
  const line = words[words.indexOf("-append") + 1]!;
  assertEquals(text.replace(line, "LINE").split(" -").map((word) => `-${word.replace(/^-/, "")}`), [
    "-machine q35",
    "-nodefaults",
    "-no-user-config",
    "-no-reboot",
    "-display none",
    "-accel tcg,thread=multi",
    "-cpu Nehalem",
    "-smp 3",
    "-m 512",
    "-kernel KERNEL",
    "-initrd RUN/1/initramfs",
    "-append LINE",
    "-chardev socket,id=console,path=RUN/1/console",
    "-serial chardev:console",
    "-device virtio-serial",
    ...["ctl", "out", "err", "in"].flatMap((name) => [
      `-chardev socket,id=${name},path=RUN/1/${name}`,
      `-device virtserialport,chardev=${name},name=${name}`,
    ]),
    "-virtfs local,path=/,mount_tag=host,security_model=none,multidevs=remap,readonly=on",
  ]);
  assertEquals(line.split(" "), [
    ...["console=ttyS0", "loglevel=5", "panic=-1", "log_buf_len=4M", "mitigations=off"],
    ...["norandmaps", "no_timer_check"],
  ]);
});

test("runInGuest() runs on the processor itself and adds the stub HCA's module when it is asked to", async () => {
  const options = { accelerator: "kvm", stub: true } as const;
  const { args, initrd, stages } = await play({ "1": [comesUp(ends(0, 0, 0))] }, options);
  assertStringIncludes(args["1-1"]!.join(" "), "-accel kvm -cpu host -smp");
  assertEquals(stages[0], "starting");
  const files = initrd["1-1"]!;
  assertEquals(Object.keys(files).filter((name) => name.startsWith("programs/")), [
    "programs/deno",
    "programs/with_stub",
    "programs/stub_hca.ko",
  ]);
  assertEquals(files["programs/with_stub"], source("stub/with_stub.sh"));
  assertEquals(files["programs/stub_hca.ko"]!.slice(1, 4), "ELF");
  assertStringIncludes(files["command.sh"]!, "exec 'with_stub' 'cat' 'a file'\n");
});

test("runOnTwoHosts() names the hosts, connects them, and puts names before their lines", async () => {
  const plan = {
    "1": [comesUp(step("out", "a\nb"), step("err", "c"), ends(0, 3, 1, "log 1"))],
    "2": [comesUp(step("out", "d\n"), ends(7, 2, 0, "log 2"))],
  };
  const logs: string[] = [];
  const { result, stdout, stderr, args, initrd } = await play(plan, {
    capture: "/a,b.pcap",
    forwards: [{ host: 8080, guest: 80 }, { protocol: "udp", host: 53, guest: 54 }],
    onKernelLog: (text, host) => logs.push(`${host} ${text}`),
  });
  assertEquals({ result, stderr, logs: logs.toSorted() }, {
    result: [0, 7],
    stderr: "host1: c\n",
    logs: ["1 log 1", "2 log 2"],
  });
  assertEquals(stdout.split("\n").toSorted(), ["", "host1: a", "host1: b", "host2: d"]);
  const [first, second] = [args["1-1"]!.join(" "), args["2-1"]!.join(" ")];
  assertMatch(first, /local\.path=(\S*)\/lan1,remote\.type=unix,remote\.path=\1\/lan2,id=lan/);
  assertMatch(second, /local\.path=(\S*)\/lan2,remote\.type=unix,remote\.path=\1\/lan1,id=lan/);
  assertStringIncludes(first, "virtio-net-pci,netdev=lan,mac=52:54:00:00:01:01,romfile=");
  assertStringIncludes(first, "-object filter-dump,id=capture,netdev=lan,file=/a,,b.pcap");
  assertStringIncludes(
    first,
    "user,restrict=on,hostfwd=tcp:127.0.0.1:8080-:80,hostfwd=udp:127.0.0.1:53-:54,id",
  );
  assertEquals(/filter-dump|hostfwd/.test(second), false);
  const settings = (host: number, forwarded: string): string =>
    `HOST='${host}'\nHOST_NAME='host${host}'\nLAN='52:54:00:00:01:0${host}'\nFORWARDED='${forwarded}'\n`;
  const [one, two] = [initrd["1-1"]!, initrd["2-1"]!];
  assertStringIncludes(one["guest.env"]!, settings(1, "52:54:00:00:02:01"));
  assertStringIncludes(two["guest.env"]!, settings(2, ""));
  assertStringIncludes(one["command.sh"]!, "IBVERBS_HOST='1'\n");
  assertStringIncludes(two["command.sh"]!, "IBVERBS_HOST='2'\n");
  assertStringIncludes(one["command.sh"]!, "exec 'one'\n");
  assertStringIncludes(two["command.sh"]!, "exec 'two' 'it'\\''s'\n");
});

test("runOnTwoHosts() goes on when one host ends in the middle, and says so", async () => {
  const plan = {
    "1": [comesUp(step("out", "done\n"), ends(0, 5, 0))],
    "2": [comesUp(step("kill"))],
  };
  const { result, stdout, said, left } = await play(plan);
  assertEquals({ result, stdout, left }, { result: [0, 137], stdout: "host1: done\n", left: [] });
  assertStringIncludes(said, "host2: the guest was ended by SIGKILL\n");
});

for (const [words, second] of [["one ::: two it's", "'two' 'it'\\''s'"], ["one", "'one'"]]) {
  test(`rxe --hosts 2 ${words} runs a command on each host`, async () => {
    const plan = { "1": [comesUp(ends(0, 0, 0))], "2": [comesUp(ends(17, 0, 0))] };
    const { result, initrd } = await play(plan, {}, {
      run: (given) => {
        const complete = (options: GuestOptions) => Promise.resolve({ ...options, ...given });
        const args = ["--hosts", "2", ...words!.split(" ")];
        return runCommandLine(args, { command: "rxe", complete }).then((status) => [status]);
      },
    });
    assertEquals(result, [17]);
    assertStringIncludes(initrd["1-1"]!["command.sh"]!, "exec 'one'\n");
    assertStringIncludes(initrd["2-1"]!["command.sh"]!, `exec ${second}\n`);
  });
}

test("rxe runs a command in one guest when nobody completes its options", async () => {
  const { result, args } = await play({ "1": [comesUp(ends(3, 0, 0))] }, {}, {
    variables: { IBVERBS_ACCEL: "tcg" },
    run: () => runCommandLine(["ls", "a"], { command: "rxe" }).then((status) => [status]),
  });
  assertEquals({ result, starts: Object.keys(args) }, { result: [3], starts: ["1-1"] });
});

/** Runs guests with no choice of the accelerator on a processor that has virtualization. */
async function chosen(usable: boolean, starts: Step[][]): Promise<Played & { opened: unknown[] }> {
  const { openSync, readTextFileSync } = Deno;
  const opened: unknown[] = [];
  Object.assign(Deno, {
    openSync: (...args: Parameters<typeof openSync>) => {
      opened.push(args);
      if (!usable) throw new Deno.errors.NotFound();
      return { close: () => {} };
    },
    readTextFileSync: (path: string) =>
      path === "/proc/cpuinfo" ? "flags\t\t: fpu svm\n" : readTextFileSync(path),
  });
  const before = Deno.env.get("IBVERBS_ACCEL");
  Deno.env.delete("IBVERBS_ACCEL");
  const played = await play({ "1": starts }, { accelerator: undefined }).finally(() => {
    Object.assign(Deno, { openSync, readTextFileSync });
    if (before !== undefined) Deno.env.set("IBVERBS_ACCEL", before);
  });
  return { ...played, opened };
}

test("runInGuest() emulates where it may not use the processor itself", async () => {
  const { result, args } = await chosen(false, [comesUp(ends(4, 0, 0))]);
  assertEquals(result, [4]);
  assertStringIncludes(args["1-1"]!.join(" "), "-accel tcg,thread=multi");
});

test("runInGuest() tries the processor itself, then the emulation, unless it is given one", async () => {
  const starts = [[step("exit", "no kvm")], [step("exit", "busy")], comesUp(ends(4, 0, 0))];
  const { result, opened, args, said } = await chosen(true, starts);
  assertEquals({ result, opened }, {
    result: [4],
    opened: [["/dev/kvm", { read: true, write: true }]],
  });
  assertEquals(
    Object.entries(args).sort().map(([, words]) => words[words.indexOf("-accel") + 1]),
    ["kvm", "tcg,thread=multi", "tcg,thread=multi"],
  );
  assertEquals(
    said,
    "guest: does not start with kvm, trying tcg. the guest ended with status 1: no kvm\n" +
      "guest: does not start with tcg, trying once more. the guest ended with status 1: busy\n",
  );
});

test("runInGuest() takes IBVERBS_ACCEL unless it is given the accelerator", async () => {
  const variables = { IBVERBS_ACCEL: "xen" };
  const plan = { "1": [comesUp(ends(0, 0, 0))] };
  const { result } = await play(plan, { accelerator: undefined }, { variables });
  assertInstanceOf(result, SetupError);
  assertEquals(result.message, 'IBVERBS_ACCEL takes kvm or tcg, not "xen"');
  assertEquals((await play(plan, { accelerator: "tcg" }, { variables })).result, [0]);
  const { args } = await play(
    plan,
    { accelerator: undefined },
    { variables: { IBVERBS_ACCEL: "kvm" } },
  );
  assertStringIncludes(args["1-1"]!.join(" "), "-accel kvm");
});

test("runInGuest() tries once more when a guest does not start, and says why", async () => {
  const failing = [
    step("console", "line 1\r\nKernel panic - not syncing\r\nafter it\n"),
    step("ctl", "stage making rxe0\nfailed: there is no rxe0\n"),
  ];
  const { result, said, args, left } = await play({ "1": [failing, comesUp(ends(5, 0, 0))] });
  assertEquals({ result, starts: Object.keys(args).toSorted(), left }, {
    result: [5],
    starts: ["1-1", "1-2"],
    left: [],
  });
  assertStringIncludes(said, "guest: does not start with tcg, trying once more. the guest failed:");
  assertStringIncludes(said, "there is no rxe0; the console's last lines:\nline 1\n");
  assertEquals(said.split("\n").slice(-2), ["Kernel panic - not syncing", ""]);
});

/** Guests that fail, how often each is started, and what the error says. */
const FAILURES: readonly [name: string, steps: Step[], starts: number, says: string][] = [
  [
    "QEMU refuses its arguments",
    [step("exit", "one\ntwo\nthree\nfour\nbad option")],
    2,
    "the guest ended with status 1: two\nthree\nfour\nbad option",
  ],
  [
    "QEMU crashes before the command",
    [step("ctl", "stage x\n"), step("console", "last words\n"), step("kill")],
    2,
    "the guest was ended by SIGKILL; the console's last lines:\nlast words",
  ],
  [
    "QEMU crashes while the command runs",
    comesUp(step("kill")),
    1,
    "the guest was ended by SIGKILL",
  ],
  [
    "the command does not end in time",
    comesUp(),
    1,
    "the guest's command took longer than 0.2 s",
  ],
  [
    "the guest does not start in time",
    [step("ctl", "stage x\n")],
    2,
    "the guest's start took longer than 120 s",
  ],
  [
    "the guest does not tell the log in time",
    comesUp(step("ctl", "exit 0 0 0\nline\n")),
    1,
    "the guest's log took longer than 60 s",
  ],
  ...["exit 0 0", "exit 0 0 0 0", "no exit 0 0 0", "exit - 0 0"].map((
    line,
  ): [string, Step[], number, string] => [
    `the guest says "${line}"`,
    comesUp(step("ctl", `${line}\n`)),
    1,
    `the guest said "${line}" instead of how its command ended`,
  ]),
];

for (const [name, steps, starts, says] of FAILURES) {
  test(`runInGuest() throws a GuestError when ${name}`, async () => {
    const timeout = name.includes("command does not end") ? 0.2 : undefined;
    // Minutes end at once.
    const after = (ms: number): number =>
      ms === (says.includes("120") ? 120_000 : says.includes("60 s") ? 60_000 : 0) ? 50 : ms;
    const plan = { "1": [steps, steps] };
    const { result, args, left } = await play(plan, { timeout }, { after });
    assertInstanceOf(result, GuestError);
    assertEquals([result.name, result.message], ["GuestError", says]);
    assertEquals({ starts: Object.keys(args).length, left }, { starts, left: [] });
  });
}

/** Gives these texts, and then what the last function gives. */
function sourceOf(texts: readonly string[], last: () => Promise<null>): Source {
  const left = texts.map((text) => new TextEncoder().encode(text));
  return {
    read: (bytes) => {
      const next = left.shift();
      if (next === undefined) return last();
      bytes.set(next);
      return Promise.resolve(next.length);
    },
  };
}

test("runInGuest() passes on the input to its end", async () => {
  const stdin = sourceOf(["one, ", "", "two"], () => Promise.resolve(null));
  const steps = comesUp(step("echo"), ends(0, 8, 0));
  const { result, stdout, initrd, left } = await play({ "1": [steps] }, { stdin });
  assertEquals({ result, stdout, left }, { result: [0], stdout: "one, two", left: [] });
  assertMatch(initrd["1-1"]!["guest.env"]!, /^STDIN='\/in'$/m);
});

test("runInGuest() ends though more input may come", async () => {
  const stdin = sourceOf(["one"], () => new Promise(() => {}));
  const { result, left } = await play({ "1": [comesUp(ends(7, 0, 0))] }, { stdin });
  assertEquals({ result, left }, { result: [7], left: [] });
});

test("runInGuest() throws a GuestError when the input cannot be read", async () => {
  const stdin = sourceOf([], () => Promise.reject(new Error("Is a directory")));
  const { result, left } = await play({ "1": [comesUp(step("echo"))] }, { stdin });
  assertInstanceOf(result, GuestError);
  assertEquals(result.message, "Cannot read the command's input: Is a directory");
  assertEquals(left, []);
});

test("runInGuest() begins with the input when the command starts, and not with a guest that fails", async () => {
  const stdin = sourceOf(["all"], () => Promise.resolve(null));
  const plan = { "1": [[step("exit", "no")], comesUp(step("echo"), ends(0, 3, 0))] };
  assertEquals((await play(plan, { stdin })).stdout, "all");
});

test("runOnTwoHosts() gives the input to the first host", async () => {
  const stdin = sourceOf(["all"], () => Promise.resolve(null));
  const hosts = { "1": [comesUp(step("echo"), ends(0, 3, 0))], "2": [comesUp(ends(0, 0, 0))] };
  const { stdout, initrd } = await play(hosts, { stdin });
  assertEquals(stdout, "host1: all\n");
  assertMatch(initrd["2-1"]!["guest.env"]!, /^STDIN='\/dev\/null'$/m);
});

test("runInGuest() says that there is no network when the command failed without a route", async () => {
  const { said } = await play({ "1": [comesUp(ends(1, 0, 0, "no route"))] });
  assertStringIncludes(said, "guest: the command failed and has looked for other hosts, but the");
});

test("runInGuest() ends with SIGPIPE's status when nobody reads the output", async () => {
  const closed = { write: () => Promise.reject(new Deno.errors.BrokenPipe()) };
  const steps = comesUp(step("out", "y\ny\n"));
  const { result, left } = await play({ "1": [steps] }, { stdout: closed });
  assertEquals({ result, left }, { result: [141], left: [] });
});

test("runOnTwoHosts() ends with SIGPIPE's status when nobody reads the output", async () => {
  const closed = { write: () => Promise.reject(new Deno.errors.BrokenPipe()) };
  const plan = { "1": [comesUp(step("out", "y\n"))], "2": [comesUp()] };
  const { result, left } = await play(plan, { stdout: closed });
  assertEquals({ result, left }, { result: [141, 141], left: [] });
});

test("runOnTwoHosts() starts again when one guest ends before the other one starts", async () => {
  const starts = [[step("kill")], comesUp(ends(1, 0, 0))];
  const { result, said } = await play({ "1": starts, "2": [[], comesUp(ends(2, 0, 0))] });
  assertEquals({ result, said }, {
    result: [1, 2],
    said: "guest: does not start with tcg, trying once more. the guest was ended by SIGKILL\n",
  });
});

test("runInGuest() waits for output that comes after the report of the end", async () => {
  const steps = comesUp(ends(0, 4, 0), step("out", "late"));
  const { result, stdout } = await play({ "1": [steps] });
  assertEquals({ result, stdout }, { result: [0], stdout: "late" });
});

// `deno test` ends at SIGINT.
for (const [signal, status] of [["SIGTERM", 143], ["SIGHUP", 129]] as const) {
  test(`runInGuest() ends the guest at ${signal}`, async () => {
    const sink = {
      write: (bytes: Uint8Array): Promise<number> => {
        Deno.kill(Deno.pid, signal);
        return Promise.resolve(bytes.length);
      },
    };
    const { result, left } = await play({ "1": [comesUp(step("out", "now"))] }, { stdout: sink });
    assertEquals({ result, left }, { result: [status], left: [] });
  });
}

test("runInGuest() shows the console when it is asked to", async () => {
  const steps = [step("console", "booting\n"), ...comesUp(ends(0, 0, 0))];
  const { said } = await play({ "1": [steps] }, { verbose: true });
  assertStringIncludes(said, "booting\n");
  assert(!(await play({ "1": [steps] })).said.includes("booting"));
});

test("runInGuest() says what goes on while the command has printed nothing, and no more then", async () => {
  for (
    const [command, what] of [
      [["cat"], "the command runs, which has printed nothing yet"],
      [["/usr/bin/deno", "test"], "Deno starts and reads the modules of the program, which has"],
      [["npx", "-y", "deno", "run", "a.ts"], "Deno starts and reads the modules of the program"],
    ] as const
  ) {
    let given = false;
    const stdin: Source = {
      async read(bytes): Promise<number | null> {
        if (given) return null;
        given = true;
        // It is read when the command has started.
        await new Promise((resolve) => setTimeout(resolve, 300));
        return new TextEncoder().encodeInto("word", bytes).written;
      },
    };
    const { said, left, stdout } = await play(
      { "1": [comesUp(step("echo"), ends(0, 4, 0))] },
      { stdin },
      { run: async (options) => [await runInGuest(command, options)], quiet: 20 },
    );
    assertEquals([stdout, left], ["word", []]);
    assertStringIncludes(said, `guest: ${what}`);
  }
});

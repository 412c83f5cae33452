// Faults of a host, staged one after another: the first line of doctor names each of them.
import { assertEquals, assertStringIncludes } from "@std/assert";
import { Context, QpType } from "../../../mod.ts";
import { outputOf } from "../../../tests/subprocess.ts";
import { addDevice, addDummy, layCable } from "../../../tests/device/links.ts";
import { denoCommand, type Ending } from "../../../tests/device/programs.ts";
import { run } from "../../../tests/device/run.ts";
import {
  connect,
  connectedPair,
  deviceTest,
  makeEnd,
  OpenDevice,
  PORT,
  QKEY,
  RXE,
  selfAddress,
  udPair,
  until,
} from "../../../tests/device/setup.ts";
import { stubTest } from "../../../tests/device/stub.ts";
import { cli, tool } from "./cli.ts";

const CLI = import.meta.resolve("../../run.ts");
const TERMINAL = import.meta.resolve("../pure/terminal.ts");
const MAIN = new URL("../../mod.ts", import.meta.url).pathname;
const VERBS = "/sys/class/infiniband_verbs";

/** Asserts how doctor ends, and parts of its first line. */
function assertFound({ code, stdout }: Ending, status: number, ...words: string[]): void {
  const [first] = stdout.split("\n");
  for (const word of words) assertStringIncludes(first!, word);
  assertEquals(code, status, stdout);
}

stubTest("doctor finds nothing on healthy devices", async () => {
  const { code, stdout, stderr } = await cli("doctor");
  assertEquals([code, stderr], [0, ""], stdout);
  const json = JSON.parse((await cli("doctor", "--json", "-n", "0")).stdout);
  assertEquals([json.doctor, json.status, json.findings], [1, "healthy", []]);
  for (const { name, ports } of json.facts.devices) {
    for (const { port } of ports) assertStringIncludes(stdout, `\n  ok  ${name} port ${port} `);
  }
});

/** Faults that a process stages in its own view of the files, by a line of a shell. */
const FILES: readonly (readonly [line: string, first: string])[] = [
  ["true", "0 healthy: nothing is wrong"],
  ["prlimit --pid $PPID --nofile=64:", "1 warning: limits: a program may have only 64 files open"],
  [
    "prlimit --pid $PPID --nofile=1024: --memlock=65536:",
    "1 warning: limits: a program may lock only 64 KiB of memory",
  ],
  [
    `chmod 0 /dev/infiniband/uverbs*; prlimit --pid $PPID --memlock=unlimited:`,
    `2 broken: ${RXE}: this user may not open /dev/infiniband/uverbs`,
  ],
  [
    "chmod 666 /dev/infiniband/uverbs*; mount -t tmpfs none /dev/infiniband",
    `2 broken: ${RXE}: the device file /dev/infiniband/uverbs`,
  ],
  [
    `mount -t tmpfs none /sys/class/infiniband; mount -t tmpfs none ${VERBS}`,
    "2 broken: kernel: the kernel module ib_uverbs is not loaded",
  ],
  [`echo 6 >${VERBS}/abi_version`, "2 broken: kernel: the kernel has no RDMA device"],
];

deviceTest("doctor names missing files, rights and limits", async () => {
  const script = `
  import { run } from "${CLI}";
  import { recorder } from "${TERMINAL}";
  for (const line of ${JSON.stringify(FILES.map(([line]) => line))}) {
    const { success } = await new Deno.Command("sh", { args: ["-e", "-c", line] }).output();
    const kept = recorder();
    const status = await run(["doctor", "-d", "${RXE}", "-n", "0"], kept.terminal);
    console.log(success, status, kept.out.split("\\n")[0]);
  }`;
  const rights = "-dac_override,-ipc_lock";
  const prefix = ["unshare", "--mount", "setpriv", "--bounding-set", rights, "--inh-caps", rights];
  const lines = (await outputOf(script, { prefix, importMap: true })).split("\n");
  assertEquals(
    lines.map((line, i) => line.slice(0, `true ${FILES[i]?.[1]}`.length)),
    FILES.map(([, first]) => `true ${first}`),
  );
});

/** The same where each needs a process of its own, by a line of a shell that runs it. */
const PROCESSES: readonly (readonly [line: string, ...first: string[]])[] = [
  [
    'mount -t tmpfs none /usr/lib/*-linux-gnu/libibverbs; "$@"',
    `broken: ${RXE}: libibverbs has no provider for the device`,
  ],
  [
    'cd /usr/lib/*-linux-gnu/libibverbs; mount -t tmpfs none $PWD; touch $PWD/librxe-rdmav25.so; "$@"',
    `broken: ${RXE}: libibverbs loads providers with names like libmlx5-rdmav`,
    "are of another version: librxe-rdmav25.so",
  ],
  [
    'within "$@"',
    `broken: ${RXE} port 1: its network interface `,
    " is in another network namespace",
  ],
  [
    'share exclusive; within "$@"; status=$?; share shared; exit $status',
    `broken: ${RXE}: the device belongs to another network namespace, because they are exclusive`,
  ],
];

/** `within` runs a command in a namespace of its own. `share` can do its work when there is none any more. */
const FUNCTIONS = `
within() { ip netns add doctor; ip netns exec doctor "$@"; set $?; ip netns delete doctor; return $1; }
share() {
  for _ in $(seq 300); do rdma system set netns $1 2>/dev/null && return; sleep 0.1; done
  exit 99
}
`;

for (const [line, ...first] of PROCESSES) {
  deviceTest(`doctor says "${first.at(-1)}"`, async () => {
    const command = denoCommand(MAIN, ["doctor", "-d", RXE, "-n", "0"]);
    const args = ["--mount", "sh", "-c", FUNCTIONS + line, "-", ...command];
    assertFound(await tool("unshare", args), 2, ...first);
  });
}

const DEVICE = "rxe_doctor";

/** Asserts what doctor says first of the device of a test. */
async function assertSays(status: number, first: string): Promise<void> {
  assertFound(await cli("doctor", "-d", DEVICE, "-n", "0"), status, first);
}

deviceTest("doctor names what is wrong with the network interface of a port", async () => {
  await using stack = new AsyncDisposableStack();
  await layCable(stack, ["doctor0", "doctor1"], ["10.13.0.1", "10.13.0.2"]);
  await addDevice(stack, DEVICE, "doctor0");
  await until("the GID", () => {
    using context = Context.open(DEVICE);
    return context.queryGidTable(PORT).some(({ gid }) => gid.isIpv4Mapped);
  });
  const port = `${DEVICE} port 1`;
  await assertSays(0, "healthy");
  await run("ip", "link", "set", "doctor1", "down");
  await assertSays(2, `broken: ${port}: there is no link: its state is DOWN, and its network`);
  await run("ip", "link", "set", "doctor0", "down");
  await assertSays(2, `broken: ${port}: its network interface doctor0 is down`);
});

deviceTest("doctor names a port without an address", async () => {
  await using stack = new AsyncDisposableStack();
  await addDummy(stack, "doctor0");
  await addDevice(stack, DEVICE, "doctor0");
  await assertSays(1, `warning: ${DEVICE} port 1: its only address is fe80::`);
});

deviceTest("doctor says that rdma_ucm is missing", async () => {
  await run("rmmod", "rdma_ucm");
  try {
    const found = await cli("doctor", "-d", RXE, "-n", "0");
    assertFound(found, 1, "warning: kernel: the kernel module rdma_ucm is not loaded");
  } finally {
    await run("modprobe", "rdma_ucm");
  }
});

/** What doctor finds while something is done again and again. */
async function idsWhile(step: () => void): Promise<string[]> {
  const timer = setInterval(step, 20);
  try {
    const { stdout } = await cli("doctor", "--json", "-d", RXE);
    return JSON.parse(stdout).findings.map(({ id }: { id: string }) => id);
  } finally {
    clearInterval(timer);
  }
}

deviceTest("doctor reports datagrams with a wrong qkey", async () => {
  using pair = udPair();
  const { ah, left, right } = pair;
  const send = { sge: left.mr.sge(0, 4), ah, remoteQpn: right.qp.qpNum, remoteQkey: QKEY + 1 };
  const ids = await idsWhile(() => {
    left.qp.postSend(send);
    left.cq.poll(16);
  });
  assertEquals(ids, ["wrong-qkey"]);
});

deviceTest("doctor reports messages without a receive, on both ends", async () => {
  using pair = connectedPair(QpType.RC);
  const { left } = pair;
  left.qp.postSend({ sge: left.mr.sge(0, 4) });
  assertEquals(await idsWhile(() => {}), ["no-receive", "peer-no-receive"]);
});

deviceTest("doctor reports requests that nobody answers", async () => {
  using pair = udPair();
  using end = new OpenDevice(RXE);
  const { qp, mr } = makeEnd(end.pd, QpType.RC);
  connect(qp, pair.right.qp.qpNum, selfAddress(end.context));
  qp.postSend({ sge: mr.sge(0, 4) });
  assertEquals(await idsWhile(() => {}), ["retries"]);
});

/** The commands of the documents: where a test runs each one, or why none does. */

/** Where a test runs a command as it is written: in a copy of the project, in a new folder or in the guest, with the package from a registry. */
export type Place = "project" | "own folder" | "guest" | "nowhere";

const TESTS = "CI runs it; a test that runs the tests would not end";
const APT = "it installs packages on the system of the reader";
const MODULES = "it loads a kernel module; the guest does this before each device test";
const NPX = "npx downloads Deno: .ci/run, the start of CI, does this; the same without npx is run";

const PEER = "it needs a peer on another host; tests/device/cm runs it with that of C";
const PAIR =
  "it needs two hosts; cli/tests/device/doctor_pair_test.ts runs it at both ends of a cable";
const CLONE = "it starts guests of its own; deno task rxe runs the same code with these options";

/** Commands that no test runs, and why. */
export const NOT_RUN: Readonly<Record<string, string>> = {
  ".ci/run": TESTS,
  "deno run --allow-ffi examples/devices.ts":
    "it needs a device on the host; the same is run in the guest",
  "deno run --allow-ffi --allow-read=worker.ts main.ts":
    "main.ts is the program of the reader; examples/workers.ts is run with such permissions",
  "deno run --allow-ffi jsr:@rdma/cli rping": PEER,
  "deno run --allow-ffi jsr:@rdma/cli rping -C 10 HOST": PEER,
  "deno run --allow-ffi jsr:@rdma/cli udaddy": PEER,
  "deno run --allow-ffi jsr:@rdma/cli udaddy HOST": PEER,
  "deno run -A jsr:@rdma/cli doctor --listen": PAIR,
  "deno run -A jsr:@rdma/cli doctor --peer HOST": PAIR,
  "deno run -A jsr:@rdma/rxe -- --stub ibv_devinfo": CLONE,
  "deno task check": "CI runs it as its first step",
  "deno task generate layout --root FOLDER --version 65.0-1.1":
    "it writes the table; tests/library/layout_test.ts compares it",
  "deno task quick": TESTS,
  "deno task test": TESTS,
  "deno run -A jsr:@rdma/rxe -- --hosts 2 --capture packets.pcap COMMAND1 ::: COMMAND2":
    "the commands stand for those of the reader; tests/hosts captures packets like this",
  "deno run -A jsr:@rdma/rxe -- --hosts 2 ibv_devinfo": CLONE,
  "deno run -A jsr:@rdma/rxe -- --kernel 7.3 --userland sid ibv_devinfo":
    "it downloads 300 MB; deno task long systems runs the device tests so",
  "npx -y deno task demo": NPX,
  "npx -y deno task test": TESTS,
  "rdma link": MODULES,
  "sudo apt-get install gcc gcc-aarch64-linux-gnu libc6-dev-arm64-cross libibverbs-dev librdmacm-dev":
    APT,
  "sudo apt-get install libibverbs1 ibverbs-providers": APT,
  "sudo apt-get install rdma-core ibverbs-providers iproute2": APT,
  "sudo modprobe rdma_rxe": MODULES,
  "sudo rdma link add rxe0 type rxe netdev eth0": MODULES,
  "tshark -r packets.pcap -Y infiniband":
    "it needs the packets of the command before it; tests/hosts runs tshark",
};

/** Where a command runs. The commands of cli that show devices need one. */
export function placeOf(command: string): Place {
  if (command in NOT_RUN) return "nowhere";
  if (command.startsWith("deno task ")) return "project";
  return /\/cli (devices|devinfo|gids|doctor)\b/.test(command) ? "guest" : "own folder";
}

/**
 * The commands of the documents: where a test runs each one, or why none does. A command that is missing here fails a test.
 */

/** Where a command runs as it is written. */
export type Place =
  /** In a copy of the project. */
  | "project"
  /** In a new folder, with the package from a registry. */
  | "own folder"
  /** As "own folder", but in the guest. */
  | "guest"
  /** Nowhere: the reason. */
  | { readonly not: string };

const TESTS: Place = { not: "CI runs it; a test that runs the tests would not end" };
const APT: Place = { not: "it installs packages on the system of the reader" };
const MODULES: Place = {
  not: "it loads a kernel module; the guest does this before each device test",
};
const CI: Place = { not: "CI runs it as its first step" };

const NPX: Place = {
  not: "npx downloads Deno: .ci/run, the start of CI, does this; the same without npx is run",
};
const HARDWARE: Place = { not: "it needs a device on the host; the same is run in the guest" };

/** Each command by its words, without the comment after it. */
export const COMMANDS: Readonly<Record<string, Place>> = {
  ".ci/run": TESTS,
  "deno add jsr:@rdma/ibverbs": "own folder",
  "deno cache echo.ts": "own folder",
  "deno cache main.ts tests/*.ts": "own folder",
  "deno run --allow-ffi --allow-net jsr:@rdma/ibverbs/cli perf --help": "own folder",
  "deno run --allow-ffi --allow-net jsr:@rdma/ibverbs/cli pingpong --help": "own folder",
  "deno run --allow-ffi jsr:@rdma/ibverbs/cli devices": "guest",
  "deno run --allow-ffi jsr:@rdma/ibverbs/cli devinfo -v": "guest",
  "deno run --allow-ffi jsr:@rdma/ibverbs/cli gids": "guest",
  "deno run -A jsr:@rdma/ibverbs/rxe -- deno run -A echo.ts": "own folder",
  "deno run -A jsr:@rdma/ibverbs/rxe -- deno test -A": "own folder",
  "deno run --allow-ffi examples/devices.ts": HARDWARE,
  "deno run jsr:@rdma/ibverbs/cli explain --help": "own folder",
  "deno task check": CI,
  "deno task demo": "project",
  "deno task generate layout": "project",
  "deno task generate layout --check": "project",
  "deno task generate": "project",
  "deno task long": "project",
  "deno task quick": TESTS,
  "deno task test": TESTS,
  "deno task vm -- --help": "project",
  "deno task vm -- --hosts 2 --capture packets.pcap COMMAND1 ::: COMMAND2": {
    not: "the commands stand for those of the reader; tests/hosts captures packets like this",
  },
  "deno task vm -- --hosts 2 ibv_devinfo": "project",
  "deno task vm -- --stub deno run --allow-ffi examples/rss_table.ts --device stub0": "project",
  "deno task vm -- deno run --allow-ffi examples/ud_reply_path.ts": "project",
  "deno task vm -- ibv_devinfo": "project",
  "npx -y deno task demo": {
    not:
      "npx downloads Deno; the same without npx is run, and .ci/run, which starts CI, begins with npx",
  },
  "npx -y deno task test": TESTS,
  "npx -y deno task vm -- deno run --allow-ffi examples/devices.ts": NPX,
  "rdma link": MODULES,
  "sudo apt-get install gcc gcc-aarch64-linux-gnu libc6-dev-arm64-cross libibverbs-dev": APT,
  "sudo apt-get install rdma-core ibverbs-providers iproute2": APT,
  "sudo modprobe rdma_rxe": MODULES,
  "sudo rdma link add rxe0 type rxe netdev eth0": MODULES,
  "tshark -r packets.pcap -Y infiniband": {
    not: "it needs the packets of the command before it; tests/hosts runs tshark",
  },
};

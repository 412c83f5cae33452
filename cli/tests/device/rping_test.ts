// The command rping with rping of rdmacm-utils, in both roles, over IPv4 and IPv6.
import { assertEquals, assertStringIncludes } from "@std/assert";
import { QpType, WcStatus } from "../../../mod.ts";
import { cli } from "./cli.ts";
import { type Ending, start } from "../../../tests/device/programs.ts";
import { deviceTest, waitFor } from "../../../tests/device/setup.ts";
import { CmDevice, HOSTS } from "../../../tests/device/cm/cm_device.ts";

const ROUNDS = 3;
const SIZE = 100;
const CLIENT = ["-C", `${ROUNDS}`, "-S", `${SIZE}`, "-v"];
const SUMMARY = `${ROUNDS} rounds, ${ROUNDS * SIZE} bytes there and back`;

/** Each test has its own, because a port is in use for a while afterwards. */
let port = 18_500;

/** The data that an end shows. */
function dataIn({ stdout }: Ending): string[] {
  return stdout.split("\n").filter((line) => line.includes("ping data: "))
    .map((line) => line.slice(line.indexOf("rdma-ping-")));
}

/** Runs the client of the tool as soon as a program listens. */
async function clientOf(...args: string[]): Promise<Ending> {
  while (true) {
    const ending = await cli("rping", ...args);
    if (!ending.stderr.includes("nobody listens on this port")) return ending;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function assertSame(server: Ending, client: Ending): void {
  assertEquals([server.code, client.code], [0, 0], `${server.stderr}${client.stderr}`);
  const data = dataIn(client);
  assertEquals(dataIn(server), data);
  assertEquals(data.map((text) => text.length), Array(ROUNDS).fill(SIZE - 1));
}

for (const [family, host] of Object.entries(HOSTS)) {
  deviceTest(`rping serves the rping of rdmacm-utils over ${family}`, async () => {
    const p = `${++port}`;
    const serving = cli("rping", "-p", p, "-v");
    await using peer = start("rping", "-c", "-a", host, "-p", p, "-V", ...CLIENT);
    const server = await serving;
    assertSame(server, await peer.ending);
    assertEquals(server.stdout.trimEnd().split("\n").at(-1), SUMMARY);
  });

  deviceTest(`rping is a client of the rping of rdmacm-utils over ${family}`, async () => {
    const p = `${++port}`;
    await using peer = start("rping", "-s", "-a", host, "-p", p, "-S", `${SIZE}`, "-v");
    const client = await clientOf("-p", p, ...CLIENT, host);
    assertSame(await peer.ending, client);
    assertEquals(client.stdout.trimEnd().split("\n").at(-1), SUMMARY);
  });
}

/** A server that sends notes of some bytes, and moves no data. */
async function idleServer(bed: CmDevice, bytes: number): Promise<void> {
  const { id } = await bed.request();
  const [sendCq, recvCq, mr] = [bed.newCq(), bed.newCq(), bed.newMr()];
  const qp = bed.newQp(QpType.RC, { sendCq, recvCq });
  id.prepare(qp);
  for (let i = 0; i < 2; i++) qp.postRecv({ sge: mr.sge(0, 16) });
  await id.accept(qp);
  const ended = id.disconnected();
  for (let i = 0; i < 2; i++) {
    if ((await waitFor(recvCq))[0]!.status !== WcStatus.SUCCESS) break;
    qp.postSend({ sge: mr.sge(0, bytes) });
    await waitFor(sendCq);
  }
  await ended;
}

for (
  const [bytes, words] of [[16, "round 0 came back changed"], [4, "sent 4 bytes, not 16"]] as const
) {
  deviceTest(`rping ends with an error if a server answers wrongly: ${words}`, async () => {
    using bed = new CmDevice();
    const listener = bed.listener();
    const serving = idleServer(bed, bytes);
    const { code, stderr } = await cli("rping", "-p", `${listener.srcPort}`, "-C", "1", HOSTS.IPv4);
    assertEquals(code, 1);
    assertStringIncludes(stderr, words);
    await serving;
  });
}

deviceTest(
  "rping refuses a client that offers more memory than there is, and one that is silent",
  async () => {
    for (
      const [size, words] of [[65_536, "asks for 65536 bytes"], [0, "sent nothing within 1 s"]]
    ) {
      using bed = new CmDevice();
      const p = ++port;
      const serving = cli("rping", "-p", `${p}`, "--timeout", "1");
      const id = await bed.routed({ hostname: HOSTS.IPv4, port: p });
      const [qp, mr] = [bed.newQp(QpType.RC), bed.newMr()];
      await id.connect(qp);
      await id.establish();
      const ended = id.disconnected();
      new DataView(mr.bytes.buffer).setUint32(12, Number(size));
      if (size !== 0) qp.postSend({ sge: mr.sge(0, 16) });
      const { code, stderr } = await serving;
      assertEquals(code, 1);
      assertStringIncludes(stderr, `${words}`);
      await ended;
    }
  },
);

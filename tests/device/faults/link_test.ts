// A device that goes away, goes down, or loses its address, while everything is done with it at once. The event loop
// goes on, every error is one of a verb or a completion, and afterwards a device of the same name works.
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  type Context,
  type EventType,
  ProtectionDomain,
  QpType,
  VerbsError,
  WorkCompletionError,
} from "../../../mod.ts";
import { makeEnd } from "../open_device.ts";
import { differs } from "../kernels.ts";
import { connect, deviceTest, PORT, selfAddress, until, waitFor } from "../setup.ts";
import { DOOMED, type DoomedLink, doomedLink } from "./doomed_link.ts";
import { Load } from "./load.ts";

const WORK = ["create", "path", "query", "send", "wc SUCCESS"];

/** Everything works on a link: a new context, and each kind of work. */
async function assertWorks(link: DoomedLink): Promise<void> {
  using context = link.open();
  const load = new Load(context);
  await load.more("wc SUCCESS");
  await load.more("path");
  await load.more("create");
  await close(load);
  assertEquals(load.outcomes, WORK);
}

/** Ends the load and closes its context: that ends the waits too. */
async function close(load: Load): Promise<void> {
  await load.stop();
  load.context.close();
  for (const end of await load.ends()) {
    if (end instanceof VerbsError && end.code === "EIO" && differs("disassociates")) continue;
    assertEquals(end, undefined);
  }
}

/** Starts the load, and comes back when all of it works. */
async function start(context: Context): Promise<Load> {
  const load = new Load(context);
  for (const work of ["wc SUCCESS", "path", "create"]) await load.more(work);
  return load;
}

/** What a device that is not whole may answer. */
const ENDED = /^(create|path|query|send) EIO$/;
const TYPED =
  /^((create|path) (ENODATA|ENODEV|ENETUNREACH|EINVAL)|wc (LOC_QP_OP_ERR|WR_FLUSH_ERR))$/;

/** Nothing came out but work, errors of a device that is not whole, and these events. */
function assertOnly(load: Load, ...events: (keyof typeof EventType)[]): void {
  const fine = [...WORK, ...events.map((name) => `event ${name}`)];
  const others = load.outcomes.filter((outcome) => !fine.includes(outcome));
  const typed = differs("disassociates") ? [TYPED, ENDED] : [TYPED];
  assertEquals(others.filter((outcome) => !typed.some((words) => words.test(outcome))), []);
}

deviceTest("A device that is deleted under load goes when it is closed", async () => {
  await using link = await doomedLink();
  const load = await start(link.open());
  let gone = false;
  const deletion = link.delete("device").then(() => gone = true);
  await until("the device no longer listed", () => !link.listed);
  const error = assertThrows(() => link.open());
  assertStringIncludes((error as Error).message, `there is no device "${DOOMED}"`);
  if (differs("disassociates")) {
    for (const work of ["create EIO", "path EIO", "query EIO", "send EIO"]) await load.more(work);
    assertOnly(load, "DEVICE_FATAL");
  } else {
    for (const work of ["wc SUCCESS", "path", "create"]) await load.more(work);
    assertEquals(load.outcomes, WORK);
    assertEquals(gone, false);
  }
  await close(load);
  await deletion;
  await link.make();
  await assertWorks(link);
});

deviceTest("A device whose network device is deleted fails with typed errors", async () => {
  {
    await using link = await doomedLink();
    const load = await start(link.open());
    const deletion = link.delete("netdev");
    const path = differs("keepsPort") ? "path EINVAL" : "path ENODEV";
    const after = differs("disassociates")
      ? ["create EIO", "path EIO", "query EIO", "send EIO"]
      : ["create ENODATA", path, "wc WR_FLUSH_ERR", "query"];
    for (const work of after) await load.more(work, 1);
    assertOnly(load, "GID_CHANGE", "PORT_ERR", "DEVICE_FATAL");
    await close(load);
    await deletion;
    assertEquals(link.listed, false);
  }
  await using link = await doomedLink();
  await assertWorks(link);
});

deviceTest("A device whose network device goes down and up under load works again", async () => {
  await using link = await doomedLink();
  const load = await start(link.open());
  await link.set("down");
  await load.more("create ENETUNREACH");
  await load.more("path ENETUNREACH");
  await load.more("wc WR_FLUSH_ERR", 1);
  await link.set("up");
  await until("the event", () => load.count("event PORT_ACTIVE") > 0);
  assertEquals(load.count("event PORT_ERR"), 1);
  load.recover();
  for (const work of ["wc SUCCESS", "path", "create"]) await load.more(work);
  assertOnly(load, "PORT_ERR", "PORT_ACTIVE");
  await close(load);
});

deviceTest("A device whose address goes and comes under load works again", async () => {
  await using link = await doomedLink();
  const context = link.open();
  const load = await start(context);
  for (let round = 0; round < 3; round++) {
    await link.address("del", context);
    await load.more("path EINVAL");
    await load.more("create ENODATA");
    await link.address("add", context);
    load.recover();
    for (const work of ["wc SUCCESS", "path", "create"]) await load.more(work);
  }
  assertOnly(load, "GID_CHANGE");
  await close(load);
});

deviceTest("A send over a link that is down fails, and its completion names the port", async () => {
  await using link = await doomedLink();
  const context = link.open();
  const pd = new ProtectionDomain(context);
  const [left, right] = [makeEnd(pd, QpType.RC), makeEnd(pd, QpType.RC)];
  connect(left.qp, right.qp.qpNum, selfAddress(context));
  connect(right.qp, left.qp.qpNum, selfAddress(context));
  await link.set("down");
  left.qp.postSend({ sge: left.mr.sge(0, 8) });
  const [completion] = await waitFor(left.cq);
  const { message } = assertThrows(() => completion!.check(), WorkCompletionError);
  assertStringIncludes(message, `Port ${PORT} of ${DOOMED} is DOWN`);
});

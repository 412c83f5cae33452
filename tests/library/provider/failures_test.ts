// Verbs that fail: what is thrown, and what is left behind.
import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  CompletionChannel,
  CompletionQueue,
  Context,
  Counters,
  Flow,
  FlowActionEsp,
  MemoryRegion,
  ProtectionDomain,
  QpType,
  QueuePair,
  type Resource,
  RwqIndirectionTable,
  VerbsError,
  WorkQueue,
} from "../../../mod.ts";
import { ACCESS, Fixture, MEMORY } from "../../provider/fixture.ts";
import * as recorder from "../../provider/recorder.ts";

/** What is made, with the verbs that make and destroy it. */
interface Maker {
  readonly create: string;
  readonly destroy: string;
  /** The verb that the error names, if the header has another name for the one that makes it. */
  readonly named?: string;
  /** Prepares what it is made from, and returns the function that makes it. */
  readonly prepare: (fixture: Fixture) => () => Resource;
}

function wq({ pd, cq }: Fixture): WorkQueue {
  return new WorkQueue(pd, { cq, maxWr: 4, maxSge: 1 });
}

const MAKERS: Readonly<Record<string, Maker>> = {
  Context: {
    create: "ibv_open_device",
    destroy: "ibv_close_device",
    prepare: () => () => Context.open("recorder0"),
  },
  ProtectionDomain: {
    create: "ibv_alloc_pd",
    destroy: "ibv_dealloc_pd",
    prepare: ({ context }) => () => new ProtectionDomain(context),
  },
  MemoryRegion: {
    create: "ibv_reg_mr",
    destroy: "ibv_dereg_mr",
    named: "ibv_reg_mr",
    prepare: ({ pd }) => () => new MemoryRegion(pd, MEMORY, ACCESS),
  },
  CompletionChannel: {
    create: "ibv_create_comp_channel",
    destroy: "ibv_destroy_comp_channel",
    prepare: ({ context }) => () => new CompletionChannel(context),
  },
  CompletionQueue: {
    create: "ibv_create_cq",
    destroy: "ibv_destroy_cq",
    prepare: ({ context }) => () => new CompletionQueue(context, { cqe: 4, channel: null }),
  },
  QueuePair: {
    create: "ibv_create_qp",
    destroy: "ibv_destroy_qp",
    prepare: (fixture) => {
      fixture.pd;
      fixture.cq;
      return () => fixture.qp(QpType.RC);
    },
  },
  "QueuePair with extensions": {
    create: "ibv_create_qp_ex",
    destroy: "ibv_destroy_qp",
    prepare: ({ pd, cq }) => () => {
      const cap = { maxSendWr: 4, maxRecvWr: 4 };
      return new QueuePair(pd, { type: QpType.UD, sendCq: cq, recvCq: cq, cap, createFlags: 2 });
    },
  },
  AddressHandle: {
    create: "ibv_create_ah",
    destroy: "ibv_destroy_ah",
    prepare: (fixture) => {
      fixture.pd;
      return () => fixture.ah();
    },
  },
  WorkQueue: {
    create: "ibv_create_wq",
    destroy: "ibv_destroy_wq",
    prepare: (fixture) => {
      fixture.pd;
      fixture.cq;
      return () => wq(fixture);
    },
  },
  RwqIndirectionTable: {
    create: "ibv_create_rwq_ind_table",
    destroy: "ibv_destroy_rwq_ind_table",
    prepare: (fixture) => {
      const queues = [wq(fixture), wq(fixture)];
      return () => new RwqIndirectionTable(fixture.context, queues);
    },
  },
  Flow: {
    create: "ibv_create_flow",
    destroy: "ibv_destroy_flow",
    prepare: (fixture) => {
      const qp = fixture.qp(QpType.RAW_PACKET);
      return () => new Flow(qp, { port: 1, specs: [] });
    },
  },
  FlowActionEsp: {
    create: "ibv_create_flow_action_esp",
    destroy: "ibv_destroy_flow_action",
    prepare: ({ context }) => () => {
      const keymat = { icvLen: 16, aesKey: new Uint8Array(16) };
      return new FlowActionEsp(context, { espAttr: {}, keymat });
    },
  },
  Counters: {
    create: "ibv_create_counters",
    destroy: "ibv_destroy_counters",
    prepare: ({ context }) => () => new Counters(context),
  },
};

const ERRORS = ["EINVAL", "ENOMEM", "EPERM", "EOPNOTSUPP", "EBUSY", "EAGAIN", "EFAULT"] as const;

for (const [name, { create, destroy, named = create, prepare }] of Object.entries(MAKERS)) {
  Deno.test(`${name} throws what ${create} failed with, and leaves nothing behind`, () => {
    for (const code of ERRORS) {
      using fixture = new Fixture();
      const make = prepare(fixture);
      const before = recorder.live();
      recorder.fail(create, code);
      const error = assertThrows(make, VerbsError);
      assertEquals([error.verb, error.code], [named, code]);
      assertEquals(recorder.live(), before);
    }
  });

  Deno.test(`${name} throws if ${create} returns NULL without a reason`, () => {
    using fixture = new Fixture();
    const make = prepare(fixture);
    const before = recorder.live();
    recorder.fail(create, 0);
    const error = assertThrows(make, VerbsError);
    assertEquals([error.verb, error.errno, error.code], [named, 0, "unknown"]);
    assertEquals(recorder.live(), before);
  });

  Deno.test(`${name} can be closed again after ${destroy} failed`, () => {
    using fixture = new Fixture();
    const made = prepare(fixture)();
    const before = recorder.live();
    recorder.fail(destroy, "EBUSY", { times: 1 });
    const error = assertThrows(() => made.close(), VerbsError);
    assertEquals([error.verb, error.code], [destroy, "EBUSY"]);
    assert(made.disposed);
    assertEquals(recorder.live(), before);
    made.close();
    assertEquals(recorder.live(), before - 1);
    recorder.take();
    made.close();
    assertEquals(recorder.take(), []);
  });
}

Deno.test("A verb that returns its error as a negative number fails with that error", () => {
  using fixture = new Fixture();
  const queue = wq(fixture);
  recorder.fail("ibv_modify_wq", 0, { result: -22n });
  const error = assertThrows(() => queue.modify({ wqState: 1 }), VerbsError);
  assertEquals([error.verb, error.code], ["ibv_modify_wq", "EINVAL"]);
});

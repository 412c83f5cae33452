// Parent and thread domains, as a provider receives them, and against hostile input.
import { assertEquals } from "@std/assert";
import * as recorder from "../../provider/recorder.ts";
import { CompletionQueue, QpType, QueuePair } from "../../../mod.ts";
import { domainAllocators } from "../../../ffi/library/domain_allocators.ts";
import { ParentDomain, ThreadDomain } from "../../../types/memory/parent_domain.ts";
import { pdCore } from "../../../types/memory/protection_domain.ts";
import { onPd } from "../recorded.ts";
import { assertRefused, fieldsOf } from "../refusals.ts";

onPd.test("ParentDomain knows the domains that it is made of", ({ context, pd }) => {
  const td = new ThreadDomain(context);
  using parent = new ParentDomain(pd, { td, pdContext: 7 });
  const { comp_mask, pd_context } = fieldsOf("ibv_alloc_parent_domain");
  assertEquals([Number(comp_mask), Number(pd_context)], [2, 7]);
  assertEquals([parent.parent, parent.td, parent.context], [pd, td, context]);
  using plain = new ParentDomain(pd);
  assertEquals([plain, parent, pd].map((domain) => pdCore(domain).base), [pd, pd, pd]);
  assertEquals(Deno.inspect(pd), 'ProtectionDomain { device: "recorder0" }');
  assertEquals(Deno.inspect(plain), 'ParentDomain { device: "recorder0" }');
  assertEquals(Deno.inspect(td), 'ThreadDomain { device: "recorder0" }');
});

onPd.test("ParentDomain with an alignment allocates and frees the memory of queues", (recorded) => {
  const { context, pd } = recorded;
  recorder.callAllocators();
  using parent = new ParentDomain(pd, { alignment: 65536, pdContext: 5 });
  const { comp_mask, pd_context } = fieldsOf("ibv_alloc_parent_domain");
  assertEquals([Number(comp_mask), Number(pd_context)], [3, 5]);
  const cq = new CompletionQueue(context, { cqe: 16, channel: null });
  const cap = { maxSendWr: 4, maxRecvWr: 4 };
  for (let i = 0; i < 100; i++) {
    new QueuePair(parent, { qpType: QpType.RC, sendCq: cq, recvCq: cq, cap }).close();
  }
  assertEquals(recorder.takeOf("alloc", "free").length, 200);
});

for (const alignment of [8, 64, 4096, 2 ** 21]) {
  Deno.test(`The allocators of a parent domain align to ${alignment} bytes and to what is asked`, () => {
    const { alloc, free } = domainAllocators(alignment);
    const allocate = new Deno.UnsafeFnPointer(Deno.UnsafePointer.create(alloc)!, {
      parameters: ["u64", "u64", "usize", "usize", "u64"],
      result: "u64",
    });
    const release = new Deno.UnsafeFnPointer(Deno.UnsafePointer.create(free)!, {
      parameters: ["u64", "u64", "u64", "u64"],
      result: "void",
    });
    for (const [size, asked] of [[1, 8], [5000, 64], [100_000, 8192], [64, 2 ** 22]] as const) {
      const address = allocate.call(1n, 2n, BigInt(size), BigInt(asked), 3n);
      const least = BigInt(Math.max(alignment, asked));
      assertEquals([address > 0n, address % least], [true, 0n]);
      const bytes = new Uint8Array(
        Deno.UnsafePointerView.getArrayBuffer(Deno.UnsafePointer.create(address)!, size),
      );
      bytes.fill(7);
      release.call(1n, 2n, address, 3n);
    }
  });
}

onPd.test("ParentDomain refuses a parent domain", ({ pd }) => {
  using parent = new ParentDomain(pd);
  assertRefused([() => new ParentDomain(parent), TypeError, "it is a parent domain itself"]);
});

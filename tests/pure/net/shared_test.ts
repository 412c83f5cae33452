import { assertEquals, assertThrows } from "@std/assert";
import { Gid, type GidEntry, GidType } from "../../../mod.ts";
import { slotOf } from "../../../net/shared/chosen_gid.ts";
import { Sharing } from "../../../net/rc/rc_device.ts";

/** An object that is shared, by its number, and what happens to it. */
class Bed {
  readonly log: string[] = [];
  alive = true;
  failing = false;
  #opened = 0;
  readonly sharing: Sharing<number> = new Sharing({
    open: () => {
      if (this.failing) throw new Error("cannot open");
      this.log.push(`open ${++this.#opened}`);
      return this.#opened;
    },
    isAlive: () => this.alive,
    close: (object) => {
      if (this.failing) throw new Error("cannot close");
      this.log.push(`close ${object}`);
    },
  });
}

Deno.test("Sharing opens an object for the first user, and closes it after the last", () => {
  const { sharing, log } = new Bed();
  const [a, b] = [sharing.use(), sharing.use()];
  assertEquals([a.object, b.object], [1, 1]);
  a[Symbol.dispose]();
  a[Symbol.dispose]();
  assertEquals(log, ["open 1"]);
  const c = sharing.use();
  b[Symbol.dispose]();
  c[Symbol.dispose]();
  assertEquals(log, ["open 1", "close 1"]);
  using again = sharing.use();
  assertEquals([again.object, log.length], [2, 3]);
});

Deno.test("Sharing opens another object when the first one is dead, and closes each once", () => {
  const bed = new Bed();
  const { sharing, log } = bed;
  const old = sharing.use();
  bed.alive = false;
  const first = sharing.use();
  bed.alive = true;
  const second = sharing.use();
  assertEquals([old.object, first.object, second.object], [1, 2, 2]);
  old[Symbol.dispose]();
  assertEquals(log, ["open 1", "open 2", "close 1"]);
  assertEquals(sharing.use().object, 2);
});

Deno.test("Sharing tries again after an object could not be opened or closed", () => {
  const bed = new Bed();
  const { sharing, log } = bed;
  bed.failing = true;
  assertThrows(() => sharing.use(), Error, "cannot open");
  bed.failing = false;
  const use = sharing.use();
  bed.failing = true;
  assertThrows(() => use[Symbol.dispose](), Error, "cannot close");
  bed.failing = false;
  use[Symbol.dispose]();
  assertEquals(log, ["open 1", "close 1"]);
});

Deno.test("slotOf() finds a GID again that has another index", () => {
  const { ROCE_V1, ROCE_V2 } = GidType;
  const entry = (gid: string, gidIndex: number, gidType: GidType = ROCE_V2): GidEntry => {
    return { gid: Gid.parse(gid), gidIndex, portNum: 1, gidType, ndevIfindex: 1 };
  };
  const known = entry("10.0.0.1", 2);
  const cases: [table: GidEntry[], index: number | undefined][] = [
    [[entry("10.0.0.1", 2)], 2],
    [[entry("10.0.0.1", 1), entry("10.0.0.1", 2)], 2],
    [[entry("10.0.0.2", 2), entry("10.0.0.1", 5)], 5],
    [[entry("10.0.0.1", 3, ROCE_V1), entry("10.0.0.1", 4)], 4],
    [[entry("10.0.0.1", 2, ROCE_V1), entry("10.0.0.2", 2)], undefined],
    [[], undefined],
  ];
  for (const [table, index] of cases) assertEquals(slotOf(table, known)?.gidIndex, index);
});

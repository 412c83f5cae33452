// Opening libibverbs: when, from where, and what is said where that fails.
import { assertEquals, assertStringIncludes } from "@std/assert";
import { compileC } from "../c/compile.ts";
import { causeOfNone } from "../../types/device/no_device.ts";
import { openWaiting } from "../../ffi/opened_later.ts";
import { outputOf, runScript, type ScriptOptions } from "../subprocess.ts";

const OLD = await compileC("old_ibverbs.c", ["-shared", "-fPIC"]);

Deno.test("verbs() opens libibverbs when a verb is read, and binds only that verb", async () => {
  const script = `
    import { verbs } from FFI/library;
    const isOpen = () => Deno.readTextFileSync("/proc/self/maps").includes("libibverbs.so");
    const isBound = (name) => Object.hasOwn(verbs(), name);
    const v = verbs();
    // computed by the header's function alone
    v.ibv_inc_rkey(1);
    console.log(isOpen(), "ibv_alloc_pd" in v, isBound("ibv_alloc_pd"));
    const poll = v.ibv_alloc_pd;
    console.log(isOpen(), isBound("ibv_alloc_pd"), isBound("ibv_dealloc_pd"));
    console.log(v.ibv_alloc_pd === poll, verbs() === v);`;
  for (const thunks of ["on", "off"]) {
    assertEquals(
      await outputOf(script, { env: { IBVERBS_THUNKS: thunks } }),
      "false true false\ntrue true false\ntrue true",
    );
  }
});

Deno.test("A verb is opened by its name when it has been called often, or by bindAll()", async () => {
  const script = `
    import { bindAll, verbs } from FFI/library;
    const opened = new Set();
    const { dlopen } = Deno;
    Deno.dlopen = (path, symbols) => {
      for (const name in symbols) if ("parameters" in symbols[name]) opened.add(name);
      return dlopen(path, symbols);
    };
    const [some, more] = [verbs().ibv_node_type_str, verbs().ibv_port_state_str];
    for (const count of [20, 100]) {
      for (let i = 0; i < count; i++) some(1);
      more(1);
      console.log(opened.has("ibv_node_type_str"), opened.has("ibv_port_state_str"));
    }
    bindAll();
    console.log(opened.has("ibv_port_state_str"), opened.size > 150);`;
  assertEquals(await outputOf(script), "false false\ntrue false\ntrue true");
});

Deno.test("bindAll() leaves nothing to bind later", async () => {
  const script = `
    import { bindAll, nonblocking, verbs } from FFI/library;
    bindAll();
    const all = [verbs(), nonblocking()].flatMap((o) => Object.values(Object.getOwnPropertyDescriptors(o)));
    console.log(all.length > 150, all.every(({ value }) => typeof value === "function"));`;
  assertEquals(await outputOf(script), "true true");
});

function pathOf(options: ScriptOptions): Promise<string> {
  return outputOf(
    `import { library } from FFI/library; console.log(library().path);`,
    options,
  );
}

Deno.test("library() opens the soname unless asked otherwise", async () => {
  assertEquals(await pathOf({}), "libibverbs.so.1");
  assertEquals(await pathOf({ env: { IBVERBS_LIBRARY: "" } }), "libibverbs.so.1");
});

Deno.test("library() says what was tried, and the remedy, when IBVERBS_LIBRARY names nothing", async () => {
  const { code, stderr } = await runScript(
    `import { listDevices } from MOD; listDevices();`,
    { env: { IBVERBS_LIBRARY: "/nowhere/libibverbs.so.1" } },
  );
  assertEquals(code, 1);
  assertStringIncludes(stderr, "Cannot open libibverbs, tried:\n  /nowhere/libibverbs.so.1: ");
  assertStringIncludes(stderr, "apt-get install libibverbs1 ibverbs-providers");
  assertStringIncludes(stderr, "IBVERBS_LIBRARY");
});

Deno.test("library() names a library that is not libibverbs", async () => {
  const path = "libm.so.6";
  const { code, stderr } = await runScript(
    `import { listDevices } from MOD; listDevices();`,
    { env: { IBVERBS_LIBRARY: path } },
  );
  assertEquals(code, 1);
  assertStringIncludes(stderr, `Cannot open libibverbs, tried:\n  ${path}: `);
  assertStringIncludes(stderr, "undefined symbol: ibv_get_device_list");
});

Deno.test("library() tries again when it could not be opened", async () => {
  assertEquals(
    await outputOf(`
      import { library } from FFI/library;
      Deno.env.set("IBVERBS_LIBRARY", "/nowhere");
      let failed = false;
      try { library(); } catch { failed = true; }
      Deno.env.delete("IBVERBS_LIBRARY");
      console.log(failed, library().path);`),
    "true libibverbs.so.1",
  );
});

for (const thunks of ["on", "off"]) {
  const env = { IBVERBS_LIBRARY: OLD, IBVERBS_THUNKS: thunks };

  Deno.test(`A verb that an older library lacks fails with EOPNOTSUPP, with thunks ${thunks}`, async () => {
    const printed = await outputOf(
      `
      import { errno } from FFI/errno;
      import { hasSymbol } from FFI/library/discovery;
      import { hasOwnOp } from FFI/library/ops;
      import { nonblocking, verbs } from FFI/library;
      const none = new Uint8Array(64);
      const v = verbs();
      console.log(JSON.stringify([
        v.ibv_alloc_pd(null), errno(),
        v.ibv_dealloc_pd(null),
        String(v.ibv_query_gid_table(null, none, 1n, 0)),
        await nonblocking().ibv_create_ah(null, none),
        hasSymbol("ibv_get_device_list"), hasSymbol("ibv_alloc_pd"),
      ]));
      const qp = Deno.UnsafePointer.of(new Uint8Array(512).fill(1));
      console.log(JSON.stringify([
        ["wr_send", "wr_atomic_write", "wr_flush"].map((op) => hasOwnOp(qp, "ibv_qp_ex", op)),
        String(v.ibv_alloc_buf(null, 1n, none)), errno(),
        v.ibv_export_buf_dmabuf_fd(null), v.ibv_query_comp_cntr_caps(null, none),
      ]));
      for (const call of [v.ibv_is_fork_initialized, () => v.ibv_wr_flush(null, 1, 1n, 1n, 1, 1)])
        try { call(); } catch ({ code }) { console.log(code); }`,
      { env },
    );
    const [results, newer, ...codes] = printed.split("\n");
    const created = { value: null, errno: 95 };
    assertEquals(JSON.parse(results!), [null, 95, 95, "-95", created, true, false]);
    assertEquals(JSON.parse(newer!), [[true, false, false], "0", 95, -1, 95]);
    assertEquals(codes, ["EOPNOTSUPP", "EOPNOTSUPP"]);
  });

  Deno.test(`Context.open() says how to get a device when there is none, with thunks ${thunks}`, async () => {
    const printed = await outputOf(
      `
      import { Context, listDevices } from MOD;
      console.log(listDevices().length);
      for (const name of [undefined, "rxe0"]) {
        try { Context.open(name); } catch (error) { console.log(error.name, error.message); }
      }`,
      { env },
    );
    const [count, any, named] = printed.split("\n");
    assertEquals(count, "0");
    assertStringIncludes(
      any!,
      "NotFound Cannot open device: there is no RDMA device",
    );
    assertStringIncludes(any!, "rdma link add rxe0 type rxe netdev NETDEV");
    assertStringIncludes(any!, "deno run -A jsr:@rdma/rxe -- COMMAND");
    assertStringIncludes(named!, 'NotFound Cannot open device: there is no device "rxe0": ');
  });
}

// The C library stays open, and what is called often.
causeOfNone();
openWaiting();

Deno.test("causeOfNone() tells a missing module, a missing provider and no device apart", async () => {
  const folder = await Deno.makeTempDir();
  assertStringIncludes(
    causeOfNone(folder),
    "the kernel module ib_uverbs is not loaded. Load the driver",
  );
  await Deno.writeTextFile(`${folder}/abi_version`, "6\n");
  assertStringIncludes(
    causeOfNone(folder),
    "There is no RDMA device: the kernel has none. Load the driver",
  );
  await Deno.mkdir(`${folder}/uverbs3`);
  await Deno.writeTextFile(`${folder}/uverbs3/ibdev`, "mlx5_0\n");
  assertStringIncludes(causeOfNone(folder), "libibverbs has no provider for mlx5_0. Install");
  await Deno.remove(folder, { recursive: true });
});

/** Calls that set errno, and calls that do not, through every kind of binding. */
const ERRNO_PROBE = `
  import { errno, errnoName } from FFI/errno;
  import { nonblocking, verbs } from FFI/library;
  import { structs } from FFI/layout;
  import { allocStruct, writeField } from FFI/struct;
  const { ibv_wc, ibv_grh, ibv_ah_attr } = structs;
  const attr = () => allocStruct(ibv_ah_attr);
  const grh = allocStruct(ibv_grh);
  const plain = allocStruct(ibv_wc);
  const global = allocStruct(ibv_wc);
  writeField(global, ibv_wc.fields.wc_flags, 1);
  const results = [];
  const sync = (wc) => results.push(verbs().ibv_init_ah_from_wc(null, 1, wc, grh, attr()), errno());
  sync(global);
  errnoName(12345);
  Deno.statSync("/");
  results.push(errno());
  sync(plain);
  sync(global);
  const calls = [global, plain, global, plain].map((wc) =>
    nonblocking().ibv_init_ah_from_wc(null, 1, wc, grh, attr()));
  for (const { value, errno } of await Promise.all(calls)) results.push(value, errno);
  results.push(errno());
  results.push(verbs().ibv_import_device(-1) === null, errnoName(errno()));
  const often = new Set();
  for (let i = 0; i < 120; i++) {
    often.add(verbs().ibv_init_ah_from_wc(null, 1, [global, plain][i % 2], grh, attr()) + " " + errno());
    often.add(verbs().ibv_import_device(-1) + " " + errno());
  }
  results.push([...often].join());
  console.log(JSON.stringify(results));`;

Deno.test("errno is that of the verb, whatever is called afterwards, with thunks and without", async () => {
  const EPROTONOSUPPORT = 93;
  const failed = [-1, EPROTONOSUPPORT];
  for (const thunks of ["on", "off"]) {
    const printed = await outputOf(ERRNO_PROBE, { env: { IBVERBS_THUNKS: thunks } });
    const results = JSON.parse(printed);
    const calls = [...failed, EPROTONOSUPPORT, 0, 0, ...failed, ...failed, 0, 0, ...failed, 0, 0];
    const last = [EPROTONOSUPPORT, true, "EINVAL", "-1 93,null 22,0 0"];
    assertEquals(results, [...calls, ...last], `thunks ${thunks}`);
  }
});

/** Libraries that are not there, and what is said of one that is linked with them. */
for (
  const [soname, remedy] of [
    ["libibverbs.so.1", "apt-get install libibverbs1 ibverbs-providers"],
    ["libgone.so.7", "Install the package that has libgone.so.7"],
  ] as const
) {
  Deno.test(`librdmacm that needs ${soname} names it where it is missing, and takes the one of IBVERBS_LIBRARY`, async () => {
    const stand = await compileC("old_ibverbs.c", ["-shared", "-fPIC", `-Wl,-soname,${soname}`]);
    const [folder, file] = [stand.replace(/[^/]*$/, ""), stand.replace(/^.*[/]/, "")];
    const link = ["-Wl,--no-as-needed", `-L${folder}`, `-l:${file}`];
    const library = await compileC("needs_library.c", ["-shared", "-fPIC", ...link]);
    const script = `
      import { librdmacm } from FFI/library/discovery;
      try {
        console.log(librdmacm.path());
      } catch (error) {
        console.log(error.name, error.message.replaceAll("\\n", " "));
      }`;
    const env = { RDMACM_LIBRARY: library };
    assertEquals(await outputOf(script, { env: { ...env, IBVERBS_LIBRARY: stand } }), library);
    if (soname === "libibverbs.so.1") return; // the system has it
    const said = await outputOf(script, { env });
    assertStringIncludes(
      said,
      `NotFound Cannot open librdmacm: it is there, and needs ${soname}, which is not`,
    );
    assertStringIncludes(said, remedy);
  });
}

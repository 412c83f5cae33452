// Kinds of memory regions, windows, device memory and domains, compared with those of C.
import {
  AccessFlags,
  adviseMr,
  AdviseMrAdvice,
  AdviseMrFlags,
  DeviceMemory,
  DeviceMemoryRegion,
  DmaBufMemoryRegion,
  ImplicitMemoryRegion,
  ImportedMemoryRegion,
  ImportedProtectionDomain,
  MemoryRegion,
  MemoryWindow,
  MwType,
  NullMemoryRegion,
  ParentDomain,
  ProtectionDomain,
  QpType,
  reregMr,
  ThreadDomain,
  XrcDomain,
} from "../../../mod.ts";
import { MEMORY, testRequests } from "../../provider/fixture.ts";

const { LOCAL_WRITE, REMOTE_WRITE, ZERO_BASED } = AccessFlags;

testRequests({
  reg_mr_iova: ({ pd }) => () => MemoryRegion.create(pd, MEMORY, LOCAL_WRITE, { iova: 0x1000 }),
  reg_mr_implicit_odp: ({ pd }) => () => new ImplicitMemoryRegion(pd, LOCAL_WRITE),
  reg_dmabuf_mr: ({ pd }) => () =>
    new DmaBufMemoryRegion(pd, {
      fd: 5,
      offset: 4096,
      length: 8192,
      iova: 0x10000,
      access: LOCAL_WRITE | REMOTE_WRITE,
    }),
  alloc_null_mr: ({ pd }) => () => new NullMemoryRegion(pd),
  rereg_mr: ({ context, mr }) => {
    const other = new ProtectionDomain(context);
    return () => reregMr(reregMr(mr, { access: LOCAL_WRITE }), { pd: other });
  },
  advise_mr: ({ pd, mr }) => () => {
    const parts = [mr.slice(0, 1024), mr.slice(2048, 512)];
    adviseMr(pd, AdviseMrAdvice.PREFETCH_WRITE, AdviseMrFlags.FLUSH, parts);
  },
  import_mr: ({ pd, mr }) => () =>
    new ImportedMemoryRegion(pd, mr.handle, { addr: mr.addr }).close(),
  bind_mw: (fixture) => {
    const qp = fixture.qp(QpType.RC);
    const { pd, mr } = fixture;
    return () => {
      const mw = new MemoryWindow(pd, MwType.TYPE_1);
      const bindInfo = { mr, addr: mr.addr + 64n, length: 128, mwAccessFlags: REMOTE_WRITE };
      qp.bindMw(mw, { wrId: 7, bindInfo });
      mw.close();
    };
  },
  device_memory: ({ context, pd }) => () => {
    const dm = new DeviceMemory(context, { length: 256, logAlignReq: 3 });
    const part = { dmOffset: 16, length: 64, access: LOCAL_WRITE | ZERO_BASED };
    const region = new DeviceMemoryRegion(pd, dm, part);
    dm.memcpyTo(8, Uint8Array.from({ length: 16 }, (_, i) => i));
    dm.memcpyFrom(12, 4);
    region.close();
    dm.close();
  },
  thread_domain: ({ context }) => () => new ThreadDomain(context).close(),
  parent_domain: ({ context, pd }) => {
    const td = new ThreadDomain(context);
    return () => new ParentDomain(pd, { td }).close();
  },
  parent_domain_allocators: ({ pd }) => () => new ParentDomain(pd, { alignment: 64 }).close(),
  open_xrcd: ({ context }) => () => new XrcDomain(context).close(),
  import_pd: ({ context, pd }) => () => new ImportedProtectionDomain(context, pd.handle).close(),
});

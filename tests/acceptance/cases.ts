/**
 * The acceptance cases: what the tests of rdma-core assert of a binding of verbs, in the words of this project, each with
 * the test that meets it, or with the reason why no device at hand can show it.
 *
 * A test is `file: beginning of its name`; the file is below tests/.
 */

/** One acceptance case. */
export interface Case {
  /** The object or area, after rdma-core's modules of tests. */
  readonly area: string;
  /** What must hold. */
  readonly holds: string;
  /** The tests that show it. */
  readonly tests: readonly string[];
  /** What they cannot show, and why. */
  readonly limit?: string;
}

const RECORDER =
  "no device here has it: shown on the recorder, which checks every byte that a provider receives";
const POST_44 =
  "newer than rdma-core 44: the verb answers that the installed libibverbs does not have it";

/** All cases. */
export const cases: readonly Case[] = [
  row(
    "address",
    "an address handle to the own GID is made",
    "device/address_handle/ah_test.ts: new AddressHandle() makes a handle that datagrams reach their peer by",
  ),
  row(
    "address",
    "on RoCE an address without a GRH is refused",
    "device/address_handle/ah_test.ts: new AddressHandle() says that RoCE needs a GRH",
  ),
  row(
    "address",
    "an address handle is destroyed once, however often it is closed",
    "device/address_handle/ah_test.ts: AddressHandle.close() destroys it once",
  ),
  row(
    "address",
    "a reply goes by a handle made from completion and GRH",
    "device/address_handle/ah_from_wc_test.ts: AddressHandle.fromWc() makes a handle that replies reach the sender by",
  ),
  row(
    "device",
    "the device list has the devices of the system",
    "device/device/context_test.ts: listDevices() tells what sysfs tells",
  ),
  row(
    "device",
    "a device opens by name",
    "device/device/context_test.ts: Context.open() opens the device when given its name",
  ),
  row(
    "device",
    "query_device reports plausible attributes",
    "device/device/context_test.ts: Context.queryDevice() agrees with ibv_devinfo",
  ),
  row(
    "device",
    "query_device_ex reports every capability group, and the number of ports",
    "device/device/device_attr_ex_test.ts: Context.queryDeviceEx() tells of ${name} what C reads",
  ),
  row(
    "device",
    "query_pkey and get_pkey_index agree with the table",
    "device/device/context_test.ts: Context.queryPkey() agrees with sysfs",
    "device/device/context_test.ts: Context.getPkeyIndex() finds a P_Key",
  ),
  row(
    "device",
    "query_gid and the GID table agree",
    "device/device/context_test.ts: Context.queryGid() and queryGidEx() agree with the table",
    "device/device/context_test.ts: Context.gidTable() lists the slots in use as sysfs has them",
  ),
  row(
    "device",
    "query_gid_ex of an empty slot fails with ENODATA",
    "device/device/context_test.ts: Context.queryGid() gives the zero GID and queryGidEx() ENODATA",
  ),
  row(
    "device",
    "query_port reports MTU, width, speed and link layer",
    "device/device/context_test.ts: Context.queryPort() agrees with ibv_devinfo",
  ),
  row(
    "device",
    "a port beyond the last one is refused",
    "library/device/context_test.ts: Context refuses ports that the device does not have",
  ),
  row("device", "a GID table without room for an entry is refused", {
    limit: "gidTable() makes room for all slots: there is no size to choose",
  }, "library/device/context_test.ts: Context.gidTable() has room for the slots of all ports"),
  row(
    "device",
    "an imported device works",
    { limit: RECORDER },
    "library/device/values_test.ts: Context.import() makes a context of a descriptor",
  ),
  row(
    "device",
    "the real-time clock is read",
    "device/completion/cq_ex_test.ts: CompletionQueueEx reads the adapter's timestamps, and queryRtValuesEx() its clock",
  ),
  row(
    "device memory",
    "device memory is allocated, written, read back, freed and imported; what is not within it is refused",
    { limit: RECORDER },
    "library/memory/regions_test.ts: DeviceMemory copies bytes in and out",
    "library/memory/regions_test.ts: DeviceMemory refuses what is not within it",
    "library/memory/regions_test.ts: DeviceMemory.import()",
  ),
  row("device memory", "several processes allocate at the same time", {
    limit: "no device here has device memory, and the recorder belongs to one process",
  }),
  row(
    "protection domain",
    "a domain is allocated and freed; closing twice is no error",
    "device/device/context_test.ts: ProtectionDomain comes and goes with the kernel's",
  ),
  row(
    "protection domain",
    "an imported domain and region are those of the other process",
    { limit: RECORDER },
    "library/memory/regions_test.ts: ImportedProtectionDomain and ImportedMemoryRegion are those of the other process",
  ),
  row(
    "memory region",
    "registration with each access right, and its effect on peers",
    "device/memory/memory_test.ts: MemoryRegion ${what} with ${namesOf(AccessFlags, access)}",
  ),
  row(
    "memory region",
    "regions can be made and ended many times",
    "device/memory/memory_test.ts: MemoryRegion can be made and disposed 1000 times",
  ),
  row(
    "memory region",
    "REMOTE_WRITE or REMOTE_ATOMIC without LOCAL_WRITE fails",
    "device/memory/memory_test.ts: new MemoryRegion() says what ${name} needs when LOCAL_WRITE is missing",
  ),
  row(
    "memory region",
    "reregistration changes address, access rights and domain",
    { limit: "rxe and libmlx4 without a kernel that allows it refuse: shown on the recorder" },
    "library/memory/rereg_mr_test.ts: reregMr() registers other memory",
    "library/memory/rereg_mr_test.ts: reregMr() changes the access rights",
    "library/memory/rereg_mr_test.ts: reregMr() moves a region to another protection domain",
  ),
  row(
    "memory region",
    "requests of before a reregistration are refused",
    "library/memory/rereg_mr_test.ts: reregMr() refuses requests that were made with the old object",
  ),
  row(
    "memory region",
    "a region has the addresses that were chosen (iova)",
    "device/memory/kinds_test.ts: MemoryRegion lets peers write at the address that was chosen",
  ),
  row(
    "memory region",
    "a DMA buffer is registered; bad flags and offsets are refused",
    { limit: RECORDER },
    "library/memory/regions_test.ts: DmaBufMemoryRegion gives the provider the part of the buffer",
    "library/memory/regions_test.ts: DmaBufMemoryRegion refuses ${what}",
  ),
  row(
    "memory region",
    "memory is prefetched by advice",
    { limit: RECORDER },
    "library/memory/regions_test.ts: adviseMr() gives the provider the parts",
  ),
  row(
    "memory region",
    "implicit on-demand paging",
    { limit: RECORDER },
    "library/memory/regions_test.ts: ImplicitMemoryRegion says where to look when the device cannot page on demand",
  ),
  row(
    "memory region",
    "on-demand paging of a region, with traffic over RC, UD and XRC",
    {
      limit: "rxe of Linux 6.1 and libmlx4 have no on-demand paging: the flag reaches the provider",
    },
    "library/memory/memory_region_test.ts: MemoryRegion gives the provider its memory and the access flags",
  ),
  row(
    "memory region",
    "relaxed ordering is passed on",
    { limit: RECORDER },
    "library/provider/requests_test.ts: reg_mr_relaxed",
  ),
  row(
    "memory window",
    "type 1: peers write through the window, and not after it is unbound",
    "device/memory/kinds_test.ts: QueuePair.bindMw() lets peers write through the window until it is unbound",
  ),
  row(
    "memory window",
    "type 2: bound by a send request, invalidated, bound again",
    "device/queue_pair/memory_window_test.ts: A window of type 2 is bound by a send request",
    "device/memory/stub_memory_window_test.ts: A window of type 2 is bound once, invalidated, and bound again",
  ),
  row(
    "memory window",
    "peers are limited to the rights of the window",
    "device/memory/kinds_test.ts: QueuePair.bindMw() limits peers to the rights of the window",
  ),
  row(
    "memory window",
    "an unknown type is refused",
    "library/memory/memory_window_test.ts: MemoryWindow refuses bad arguments before native code is reached",
  ),
  row(
    "completion queue",
    "sizes and completion vectors",
    "device/completion/cq_test.ts: CompletionQueue() makes a queue of at least the size asked for",
    "device/completion/cq_test.ts: CompletionQueue() takes every completion vector there is",
  ),
  row(
    "completion queue",
    "too large a size fails",
    "device/completion/cq_test.ts: CompletionQueue() tells the device's limit when asked for more",
  ),
  row(
    "completion queue",
    "a completion vector that the device does not have is refused",
    "library/completion/queue_test.ts: CompletionQueue() refuses bad arguments before native code",
    "library/completion/cq_ex_test.ts: CompletionQueueEx() refuses bad arguments before native code",
  ),
  row(
    "completion queue",
    "resize up and down, and below what it holds",
    "device/completion/cq_test.ts: CompletionQueue.resize() grows and shrinks the queue",
    "device/completion/cq_test.ts: CompletionQueue.resize() fails when the queue holds more",
  ),
  row(
    "completion queue ex",
    "traffic polled by start, next and end",
    "device/completion/cq_ex_test.ts: CompletionQueueEx gives the completions of sends and receives",
  ),
  row(
    "completion queue ex",
    "every completion flag and attribute flag",
    "library/completion/cq_ex_test.ts: CompletionQueueEx.poll() reads every value that the queue was created for",
    "library/completion/cq_ex_test.ts: CompletionQueueEx() passes its attributes to ibv_create_cq_ex()",
  ),
  row(
    "completion events",
    "an armed queue sends one event through its channel",
    "device/completion/channel_test.ts: CompletionChannel.getCqEvent() gives one event for each arming",
  ),
  row(
    "completion events",
    "traffic whose completions are waited for",
    "device/completion/completions_test.ts: CompletionQueue.completions() gives completions as they come",
    "device/completion/cq_ex_test.ts: CompletionQueueEx.completions() waits for events",
  ),
  row(
    "shared receive queue",
    "two queue pairs receive from one queue",
    "device/srq/srq_test.ts: Two queue pairs take their receives from one shared queue",
  ),
  row(
    "shared receive queue",
    "the limit sends its event once",
    "device/srq/srq_test.ts: SharedReceiveQueue.modify() sets a limit that sends an event once",
  ),
  row(
    "shared receive queue",
    "query and modify",
    "device/srq/srq_test.ts: SharedReceiveQueue.query() reports what was granted",
  ),
  row(
    "shared receive queue",
    "tag matching operations",
    { limit: RECORDER },
    "library/srq/srq_test.ts: SharedReceiveQueue.postOps() writes each operation where C reads it",
  ),
  row(
    "queue pair",
    "RC, UC, UD and raw packet queue pairs are made, in state RESET",
    "device/queue_pair/qp_test.ts: new QueuePair() makes a ${name} queue pair in state RESET",
    "device/rss/rss_traffic_test.ts: Raw packet queue pairs without a table receive by themselves",
  ),
  row(
    "queue pair",
    "ibv_create_qp and ibv_create_qp_ex make the same queue pair",
    "device/rss/rss_test.ts: new QueuePair() makes the same queue pair by ibv_create_qp and ibv_create_qp_ex",
  ),
  row(
    "queue pair",
    "capabilities beyond the device fail",
    "device/queue_pair/qp_test.ts: new QueuePair() tells the device's limits when asked for more",
  ),
  row(
    "queue pair",
    "query reports what was set",
    "device/queue_pair/qp_test.ts: QueuePair.modify() takes an RC queue pair up with every attribute as given",
  ),
  row(
    "queue pair",
    "the qkey of a UD queue pair changes and reads back",
    "device/queue_pair/qp_test.ts: QueuePair.modify() changes the qkey of a UD queue pair that is up",
  ),
  row(
    "queue pair",
    "data in order is queried",
    "library/queue_pair/options_test.ts: QueuePair.queryDataInOrder() asks for an operation",
  ),
  row(
    "queue pair",
    "the rate limit is modified",
    { limit: RECORDER },
    "library/queue_pair/options_test.ts: QueuePair.modifyRateLimit() writes each attribute where C reads it",
  ),
  row(
    "queue pair",
    "enhanced connection options are set and queried",
    { limit: RECORDER },
    "library/queue_pair/options_test.ts: QueuePair.setEce() and queryEce() carry the options",
  ),
  row(
    "queue pair",
    "raw packets without CAP_NET_RAW fail with EPERM",
    "device/rss/rss_test.ts: new QueuePair() names CAP_NET_RAW where that is missing",
  ),
  row(
    "queue pair",
    "posting in RESET fails with EINVAL; a full queue with ENOMEM",
    "device/queue_pair/bad_input_test.ts: QueuePair.postSend() names the state when it is wrong",
    "device/queue_pair/bad_input_test.ts: QueuePair.postRecv() tells which request found the queue full",
  ),
  row(
    "queue pair",
    "too many scatter/gather elements fail",
    "library/work/send_requests_test.ts: RequestList.setSge() refuses more elements than there is room for",
  ),
  row(
    "queue pair",
    "messages without data",
    "device/queue_pair/ud_test.ts: QueuePair.postSend() delivers a datagram without data",
    "device/queue_pair/atomic_refused_test.ts: An RC queue pair sends, writes and reads nothing",
  ),
  row("queue pair", "a queue pair is made in a state other than RESET", {
    limit:
      "the constructor makes it in RESET, as C does; init() and the activations change the state",
  }),
  row(
    "queue pair",
    "an alternative path is set and queried",
    "device/srq/stub_srq_test.ts: QueuePair.modify() sets an alternative path, which query() reports",
  ),
  row(
    "queue pair ex",
    "datagrams by wr_* builders",
    "device/queue_pair/queue_pair_ex_test.ts: WrBuilder sends datagrams",
  ),
  row(
    "queue pair ex",
    "RDMA write, with immediate data, and read",
    "device/queue_pair/queue_pair_ex_test.ts: WrBuilder writes and reads the peer's memory",
  ),
  row(
    "queue pair ex",
    "atomics",
    "device/queue_pair/queue_pair_ex_test.ts: WrBuilder does atomics on the peer's memory",
  ),
  row(
    "queue pair ex",
    "windows are bound by a builder",
    "device/queue_pair/queue_pair_ex_test.ts: WrBuilder binds windows",
  ),
  row(
    "queue pair ex",
    "atomic write and flush",
    { limit: POST_44 },
    "library/queue_pair/queue_pair_ex_test.ts: WrBuilder makes each RDMA and atomic request with its own verb",
  ),
  row(
    "extended reliable connection",
    "domain, queue pairs on both sides, a message to the queue it names",
    "device/srq/stub_srq_test.ts: A message for an extended reliable connection goes to the queue that it names",
    "device/srq/stub_srq_test.ts: new OpenedQueuePair() shares a receiving queue pair of the domain",
  ),
  row(
    "parent domain",
    "without allocators, and with aligned memory from allocators",
    { limit: RECORDER },
    "library/memory/domains_test.ts: ParentDomain gives the provider its domains and its number",
    "library/memory/domains_test.ts: ParentDomain with an alignment allocates and frees the memory of queues",
  ),
  row(
    "parent domain",
    "memory of huge pages from allocators",
    { limit: "the allocators align as asked, and the kernel chooses the pages" },
    "library/memory/domains_test.ts: The allocators of a parent domain align to ${alignment} bytes",
  ),
  row(
    "thread domain",
    "allocated and freed",
    { limit: RECORDER },
    "library/memory/domains_test.ts: ThreadDomain is allocated and deallocated once",
  ),
  row(
    "flow steering",
    "each kind of specification reaches the device",
    "library/flow/flow_test.ts: Flow sends spec type 0x${spec.type.toString(16)} in the layout of its struct",
    "device/flow/stub_flow_test.ts: Flow gives the kernel its conditions, and is removed once",
  ),
  row("flow steering", "matching packets reach the queue pair", {
    limit: "the stub HCA records rules and does not steer by them",
  }, "library/flow/flow_test.ts: Flow sends the rule, its size and the number of specifications"),
  row(
    "counters",
    "attached and read",
    { limit: RECORDER },
    "library/flow/flow_test.ts: Counters attach counting points and read values",
  ),
  row(
    "atomics",
    "compare and swap, fetch and add",
    "device/queue_pair/rc_test.ts: QueuePair.postSend() swaps the peer's word only if it compares",
    "device/queue_pair/rc_test.ts: QueuePair.postSend() adds to the peer's word and gives what it was",
  ),
  row(
    "atomics",
    "an unaligned address, or memory without the right, fails",
    "library/work/post_test.ts: QueuePair.postSend() names atomics that are not on 8 aligned bytes",
    "device/queue_pair/rc_test.ts: An RDMA write completes with REM_ACCESS_ERR when ${when}",
  ),
  row(
    "atomics",
    "a wrong lkey, a wrong rkey, and a queue pair or memory without the right fail",
    "device/queue_pair/atomic_refused_test.ts: An atomic fails when ${what}",
  ),
  row("atomics", "over an extended reliable connection", {
    limit: "rxe has no such connections, and the stub HCA does no atomics",
  }),
  row(
    "RSS",
    "work queues, a table and a queue pair that spreads packets",
    "device/rss/rss_traffic_test.ts: Packets reach the work queue that workQueueFor() predicts, whole",
  ),
  row(
    "multicast",
    "a datagram to a group reaches the queue pairs that joined",
    "device/queue_pair/multicast_test.ts: A datagram to group ${group} reaches the queue pairs that joined it",
  ),
  row(
    "fork",
    "fork support is switched on, and reported",
    "library/device/values_test.ts: forkInit() makes memory safe for forks",
  ),
  row("connections by address", "connect, listen, resolve (librdmacm)", {
    limit: "librdmacm is another library, which this module does not bind",
  }),
  row("newer rdma-core", "port speed, completion counters, DMA handles, buffers, ibv_reg_mr_ex", {
    limit: POST_44,
  }),
];

function row(
  area: string,
  holds: string,
  ...rest: readonly (string | { readonly limit: string })[]
): Case {
  const tests = rest.filter((part) => typeof part === "string");
  const limit = rest.find((part) => typeof part === "object")?.limit;
  return { area, holds, tests, ...limit !== undefined && { limit } };
}

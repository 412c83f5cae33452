/** Causes that classes of verbs share. */

import { descriptorErrno, lockLimit } from "../../ffi/host.ts";
import { NO_FILES } from "../../internal/texts.ts";
import { causeOf, type Causes, type Words } from "./causes.ts";

/** How many objects of a kind a device has. */
export type Count = {
  readonly object: string;
  /** The attribute of the device that has the number. */
  readonly attribute: string;
  readonly most: number;
  /** How many of them this program has. */
  readonly own: number;
};

/** Returns how many objects of the kind that a verb makes the device has. */
export type CountOf = (verb: string) => Count | undefined;

/** A verb that failed. */
export interface Failed {
  readonly verb: string;
  /** How many objects the device has, if the verb makes one. */
  readonly countOf: CountOf | undefined;
}

/** Verbs that open files of devices. Some libraries only say that there is no device. */
const OPEN: Causes<Failed> = [
  [
    "ENODEV, ENOENT, EACCES",
    'No file descriptor is left, so that nothing can be opened: "ulimit -n" shows the limit of the process',
    () => descriptorErrno() !== 0,
  ],
];

/** Verbs that pin memory of the process: that of regions, and that of the queues of most providers. */
const PIN: Causes<Failed> = [
  [
    "EPERM",
    'The process may lock no memory: the limit is 0 ("ulimit -l"), and it lacks the capability CAP_IPC_LOCK',
    () => lockLimit() === 0n,
  ],
  [
    "ENOMEM",
    "The limit on locked memory is likely too small for all regions and queues of the process: {limit} bytes " +
    '("ulimit -l"). The capability CAP_IPC_LOCK lifts it',
    limitOf,
  ],
];

/** Verbs that make an object of which a device has a limited number. */
const COUNT: Causes<Failed> = [
  [
    "ENOMEM, ENOSPC",
    "The system has no memory left, or the device no {object}: it has {most} ({attribute}), of all programs " +
    "together. `rdma resource` counts them",
    ({ verb, countOf }) => countOf?.(verb),
  ],
  // Soft-RoCE gives no other reason.
  [
    "EINVAL",
    "The device may have no {object} left: it has {most} ({attribute}) for all programs, and this one has {own}",
    usedUp,
  ],
];

const MAKE: Causes<Failed> = [
  [
    "EAGAIN",
    "The control group of the process may have reached its limit of RDMA objects: " +
    "compare its files rdma.current and rdma.max. Or the device has none left",
  ],
];

const DEVICE: Causes<Failed> = [
  [
    "EIO, ENODEV",
    "The device is gone, was reset, or has failed: close its context, and open the device again",
  ],
];

const ANY: Causes<Failed> = [
  ["EMFILE", `The ${NO_FILES.EMFILE}`],
  ["ENFILE", `The ${NO_FILES.ENFILE}`],
  [
    "EOPNOTSUPP, ENOSYS",
    "The device, its driver, its provider or the installed rdma-core does not have it",
  ],
];

export interface Class {
  /** The class in words, for docs/errors.md. */
  readonly title: string;
  readonly verbs: RegExp;
  readonly causes: Causes<Failed>;
}

/** Classes whose causes can be verified. They are checked before the causes of the verb itself. */
export const CERTAIN: readonly Class[] = [
  {
    title: "`ibv_open_device`, `rdma_create_event_channel`, `rdma_create_id`, `rdma_getaddrinfo`",
    verbs: /^(ibv_open_device|rdma_(create_event_channel|create_id|getaddrinfo))$/,
    causes: OPEN,
  },
];

/** Classes whose causes are checked after those of the verb itself, the most certain first. */
export const LIKELY: readonly Class[] = [
  {
    title:
      "all that register memory or make or resize a queue, except DMA buffers and device memory",
    verbs: /^ibv_(re)?reg_(buf_)?mr|^(ibv|\w+dv)_create_(cq|qp|driver_qp|srq|wq)|^ibv_resize_cq$/,
    causes: PIN,
  },
  { title: "all that make an object of a device, `ibv_attach_mcast`", verbs: /./, causes: COUNT },
  {
    title: "all that make an object, `ibv_get_device_list`",
    verbs: /^(ibv|\w+dv)_((alloc|create|import|open|reg)_|get_device_list$)/,
    causes: MAKE,
  },
  {
    title: "all of an open device",
    verbs: /^(ibv|\w+dv)_(?!get_device_list$|(open|import)_device$)/,
    causes: DEVICE,
  },
  { title: "any", verbs: /./, causes: ANY },
];

/** A verified cause that a verb shares with others. */
export function certainCause(failed: Failed, code: string): string | undefined {
  return causeIn(CERTAIN, failed, code);
}

/** A likely cause that a verb shares with others. */
export function likelyCause(failed: Failed, code: string): string | undefined {
  return causeIn(LIKELY, failed, code);
}

function causeIn(classes: readonly Class[], failed: Failed, code: string): string | undefined {
  for (const { verbs, causes } of classes) {
    const cause = verbs.test(failed.verb) ? causeOf(causes, code, failed) : undefined;
    if (cause !== undefined) return cause;
  }
  return undefined;
}

/** The kind of object that a verb makes, if this program has more than half of those that the device has. */
function usedUp({ verb, countOf }: Failed): Words | undefined {
  const count = countOf?.(verb);
  return count !== undefined && count.own * 2 > count.most ? count : undefined;
}

function limitOf(): Words | undefined {
  const limit = lockLimit();
  return limit === undefined ? undefined : { limit };
}

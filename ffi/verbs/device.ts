import type { IbvContext, IbvDevice } from "../handles.ts";
import { Buffer, Context, Device, Pointer } from "../parameters.ts";
import { queryDeviceEx } from "../table/header.ts";
import { exported, type Table, vctx } from "../table/row.ts";

/**
 * Verbs of devices and their contexts.
 *
 * @category Prototypes of verbs
 */
export interface DeviceVerbs {
  /** `struct ibv_device * *ibv_get_device_list(int *num_devices)` */
  ibv_get_device_list(num_devices: BufferSource | null): Deno.PointerValue;
  /** `void ibv_free_device_list(struct ibv_device **list)` */
  ibv_free_device_list(list: Deno.PointerValue): void;
  /** `const char *ibv_get_device_name(struct ibv_device *device)` */
  ibv_get_device_name(device: IbvDevice): Deno.PointerValue;
  /** `int ibv_get_device_index(struct ibv_device *device)` */
  ibv_get_device_index(device: IbvDevice): number;
  /** `__be64 ibv_get_device_guid(struct ibv_device *device)` */
  ibv_get_device_guid(device: IbvDevice): bigint;
  /** `const char *ibv_node_type_str(enum ibv_node_type node_type)` */
  ibv_node_type_str(node_type: number): Deno.PointerValue;
  /** `struct ibv_context *ibv_open_device(struct ibv_device *device)` */
  ibv_open_device(device: IbvDevice): IbvContext | null;
  /** `int ibv_close_device(struct ibv_context *context)` */
  ibv_close_device(context: IbvContext): number;
  /** `struct ibv_context *ibv_import_device(int cmd_fd)` */
  ibv_import_device(cmd_fd: number): IbvContext | null;
  /** `int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *device_attr)` */
  ibv_query_device(context: IbvContext, device_attr: BufferSource): number;
  /**
   * `int ibv_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input, struct ibv_device_attr_ex *attr)`
   *
   * Without the op it calls `ibv_query_device` and zeroes the rest.
   */
  ibv_query_device_ex(context: IbvContext, input: BufferSource | null, attr: BufferSource): number;
  /** `int ibv_query_rt_values_ex(struct ibv_context *context, struct ibv_values_ex *values)` */
  ibv_query_rt_values_ex(context: IbvContext, values: BufferSource): number;
  /** `int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)` */
  ibv_get_async_event(context: IbvContext, event: Deno.PointerValue): number;
  /** `void ibv_ack_async_event(struct ibv_async_event *event)` */
  ibv_ack_async_event(event: Deno.PointerValue): void;
  /** `const char *ibv_event_type_str(enum ibv_event_type event)` */
  ibv_event_type_str(event: number): Deno.PointerValue;
  /** `int ibv_fork_init(void)` */
  ibv_fork_init(): number;
  /** `enum ibv_fork_status ibv_is_fork_initialized(void)` */
  ibv_is_fork_initialized(): number;
}

/** The table of verbs of devices and their contexts. */
export const deviceVerbs: Table<DeviceVerbs> = {
  ibv_get_device_list: exported([Buffer], Pointer, "errno"),
  ibv_free_device_list: exported([Pointer], "void", "never"),
  ibv_get_device_name: exported([Device], Pointer, "never"),
  ibv_get_device_index: exported([Device], "i32", "never"),
  ibv_get_device_guid: exported([Device], "u64", "never"),
  ibv_node_type_str: exported(["i32"], Pointer, "never"),
  ibv_open_device: exported([Device], Context, "errno"),
  ibv_close_device: exported([Context], "i32", "errno"),
  ibv_import_device: exported(["i32"], Context, "errno"),
  ibv_query_device: exported([Context, Buffer], "i32", "code"),
  ibv_query_device_ex: vctx(
    "ibv_context",
    "query_device_ex",
    [Context, Buffer, Buffer, "usize"],
    "i32",
    "code",
    { header: queryDeviceEx },
  ),
  ibv_query_rt_values_ex: vctx("ibv_context", "query_rt_values", [Context, Buffer], "i32", "code"),
  ibv_get_async_event: exported([Context, Pointer], "i32", "errno"),
  ibv_ack_async_event: exported([Pointer], "void", "never"),
  ibv_event_type_str: exported(["u32"], Pointer, "never"),
  ibv_fork_init: exported([], "i32", "code"),
  ibv_is_fork_initialized: exported([], "u32", "never"),
};

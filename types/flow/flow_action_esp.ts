import type { IbvFlowAction } from "../../ffi/handles.ts";
import { type CEnum, enums } from "../../ffi/layout.ts";
import { members } from "../../ffi/members.ts";
import { copyOfBytes, uint32 } from "../../internal/checks.ts";
import { AttributeCodec, codecOf, type OwnRules, type Rules } from "../core/attributes.ts";
import { instance } from "../core/checks.ts";
import { call } from "../core/errors.ts";
import { type NativeKind, NativeResource } from "../core/native_resource.ts";
import { Context } from "../device/context.ts";
import { writeEncap } from "./esp_encap.ts";
import type { FlowFilters, FlowSpecType } from "./flow_filter.ts";

/**
 * How the device applies ESP (`enum ibv_flow_action_esp_flags`), to be combined with `|`.
 *
 * @category Flow steering
 */
export const FlowActionEspFlags: {
  /** The device only encrypts and decrypts. It is 0: the absence of `FULL_OFFLOAD`. */
  readonly INLINE_CRYPTO:
    CEnum.ibv_flow_action_esp_flags.IB_UVERBS_FLOW_ACTION_ESP_FLAGS_INLINE_CRYPTO;
  /** The device adds and removes the headers too. */
  readonly FULL_OFFLOAD:
    CEnum.ibv_flow_action_esp_flags.IB_UVERBS_FLOW_ACTION_ESP_FLAGS_FULL_OFFLOAD;
  /** Tunnel mode. It is 0: the absence of `TRANSPORT`. */
  readonly TUNNEL: CEnum.ibv_flow_action_esp_flags.IB_UVERBS_FLOW_ACTION_ESP_FLAGS_TUNNEL;
  /** Transport mode. */
  readonly TRANSPORT: CEnum.ibv_flow_action_esp_flags.IB_UVERBS_FLOW_ACTION_ESP_FLAGS_TRANSPORT;
  /** The device decrypts. It is 0: the absence of `ENCRYPT`. */
  readonly DECRYPT: CEnum.ibv_flow_action_esp_flags.IB_UVERBS_FLOW_ACTION_ESP_FLAGS_DECRYPT;
  /** The device encrypts. */
  readonly ENCRYPT: CEnum.ibv_flow_action_esp_flags.IB_UVERBS_FLOW_ACTION_ESP_FLAGS_ENCRYPT;
  /** The extended sequence number starts a new window. */
  readonly ESN_NEW_WINDOW:
    CEnum.ibv_flow_action_esp_flags.IB_UVERBS_FLOW_ACTION_ESP_FLAGS_ESN_NEW_WINDOW;
} = members("ibv_flow_action_esp_flags", "IB_UVERBS_FLOW_ACTION_ESP_FLAGS_");

/**
 * Attributes of an ESP action (`struct ibv_flow_action_esp_attr`).
 *
 * @category Flow steering
 */
export interface FlowActionEspAttr {
  /** The security association (`struct ibv_flow_action_esp`). Attributes that are left out are 0. */
  readonly espAttr?: {
    /** Security parameter index. */
    readonly spi?: number | undefined;
    /** Sequence number to start with. */
    readonly seq?: number | undefined;
    /** Bytes of padding for traffic flow confidentiality. */
    readonly tfcPad?: number | undefined;
    /** `FlowActionEspFlags`, combined. */
    readonly flags?: number | undefined;
    /** Number of packets after which the association ends. */
    readonly hardLimitPkts?: bigint | number | undefined;
  } | undefined;
  /** The key for AES-GCM (`struct ibv_flow_action_esp_keymat_aes_gcm`). It is needed to create an action. */
  readonly keymat?: {
    /** Initialization vector to start with. */
    readonly iv?: bigint | number | undefined;
    /** Salt, 32 bits. */
    readonly salt?: number | undefined;
    /** Length of the integrity check value in bytes, such as 16. */
    readonly icvLen: number;
    /** The key: 16, 24 or 32 bytes. It is copied. */
    readonly aesKey: Uint8Array;
  } | undefined;
  /** The number of packets in the window of the replay protection; no protection if left out. */
  readonly replaySize?: number | undefined;
  /**
   * The headers that tunnel mode puts around the packet (`struct ibv_flow_action_esp_encap`), outermost first; none if left
   * out. At most 8. Fields of `val` that are left out are 0.
   */
  readonly espEncap?:
    | readonly {
      [Header in keyof FlowFilters]: {
        readonly type: typeof FlowSpecType[Header];
        readonly val: FlowFilters[Header];
      };
    }[keyof FlowFilters][]
    | undefined;
  /** The upper 32 bits of the extended sequence number. */
  readonly esn?: number | undefined;
}

type EspAttr = NonNullable<FlowActionEspAttr["espAttr"]>;
type AesGcmKeymat = NonNullable<FlowActionEspAttr["keymat"]>;

const esp: AttributeCodec<EspAttr> = codecOf("ibv_flow_action_esp", "espAttr", {
  spi: {},
  seq: {},
  tfcPad: {},
  flags: {},
  hardLimitPkts: {},
});

const KEY_LENGTHS = [16, 24, 32];

const keymat: AttributeCodec<AesGcmKeymat, AesGcmKeymat, { keyLen?: number }> = codecOf(
  "ibv_flow_action_esp_keymat_aes_gcm",
  "keymat",
  {
    iv: {},
    salt: {},
    icvLen: { required: true },
    aesKey: { required: true, from: (key) => key as Uint8Array, to: (key) => key, derive: keyOf },
    keyLen: { own: true, derive: ({ aesKey }) => (aesKey as Uint8Array).length },
  },
);

function keyOf({ aesKey }: Readonly<Record<string, unknown>>): Uint8Array | undefined {
  if (aesKey === undefined) return undefined;
  const key = copyOfBytes(aesKey, "aesKey");
  if (KEY_LENGTHS.includes(key.length)) return key;
  throw new RangeError(`Cannot use aesKey of ${key.length} bytes: it takes 16, 24 or 32`);
}

interface Replay {
  readonly size: number;
}

const replay: AttributeCodec<Replay> = codecOf("ibv_flow_action_esp_replay_bmp", "replay", {
  size: {},
});

/** What follows from the attributes. */
interface Derived {
  readonly keymatLen?: number | undefined;
  readonly keymatProto?: number | undefined;
  readonly replay?: Replay | undefined;
  readonly replayLen?: number | undefined;
  readonly replayProto?: number | undefined;
  readonly encap?: DataView | undefined;
}

const KEYMAT_PROTO = enums.ibv_flow_action_esp_keymat.IB_UVERBS_FLOW_ACTION_ESP_KEYMAT_AES_GCM;
const REPLAY_PROTO = enums.ibv_flow_action_esp_replay.IB_UVERBS_FLOW_ACTION_ESP_REPLAY_BMP;

const rules: Rules<FlowActionEspAttr> & OwnRules<Derived> = {
  espAttr: { struct: esp, pointer: true },
  keymat: { field: "keymat_ptr", struct: keymat, pointer: true },
  keymatLen: { own: true, derive: ({ keymat: given }) => given && keymat.size },
  keymatProto: { own: true, derive: ({ keymat: given }) => given && KEYMAT_PROTO },
  replaySize: { other: true },
  replay: { field: "replay_ptr", struct: replay, pointer: true, own: true, derive: replayOf },
  replayLen: { own: true, derive: ({ replay: given }) => given && replay.size },
  replayProto: { own: true, derive: ({ replay: given }) => given && REPLAY_PROTO },
  espEncap: { other: true },
  encap: { field: "esp_encap", pointer: true, own: true, derive: encapOf },
  esn: { mask: enums.ibv_flow_action_esp_mask.IBV_FLOW_ACTION_ESP_MASK_ESN },
};
const changes: AttributeCodec<FlowActionEspAttr, FlowActionEspAttr, Derived> = new AttributeCodec(
  "ibv_flow_action_esp_attr",
  "ESP attributes",
  rules,
);
/** A new action has an association. A change without one leaves it as it is. */
const creation: typeof changes = new AttributeCodec("ibv_flow_action_esp_attr", "ESP attributes", {
  ...rules,
  espAttr: { struct: esp, pointer: true, fallback: {} },
  keymat: { field: "keymat_ptr", struct: keymat, pointer: true, required: true },
});

function replayOf({ replaySize }: Readonly<Record<string, unknown>>): Replay | undefined {
  return replaySize === undefined
    ? undefined
    : { size: uint32(replaySize as number, "replaySize") };
}

function encapOf(
  { espAttr, espEncap }: Readonly<Record<string, unknown>>,
): DataView | undefined {
  if (espEncap === undefined) return undefined;
  if ((espAttr as EspAttr | undefined)?.flags! & FlowActionEspFlags.TRANSPORT) {
    throw new TypeError("Cannot use espEncap: transport mode puts no headers around packets");
  }
  return writeEncap(espEncap as NonNullable<FlowActionEspAttr["espEncap"]>);
}

/**
 * An action that encrypts or decrypts the packets of a flow with IPsec ESP (`struct ibv_flow_action`). Name it in the
 * specifications of a flow with `FlowSpecType`.ACTION_HANDLE.
 *
 * @experimental Not tested on any device: it has only run on a library that records calls.
 * @category Flow steering
 */
export class FlowActionEsp extends NativeResource<IbvFlowAction> {
  static readonly #kind: NativeKind<IbvFlowAction, FlowActionEsp> = {
    name: "flow action",
    destroy: (handle) => call("ibv_destroy_flow_action", "destroy flow action", [handle]),
    describe: ({ context }) => ({ device: context.device.name }),
  };
  /** The device it belongs to. */
  readonly context: Context;

  /**
   * Makes an ESP action (`ibv_create_flow_action_esp`).
   *
   * @throws {TypeError} Also if transport mode has headers.
   * @throws {RangeError} Also if the key does not have 16, 24 or 32 bytes, or there are too many headers.
   * @throws {VerbsError} If the device refuses, or has no flow actions (EOPNOTSUPP).
   */
  constructor(context: Context, attr: FlowActionEspAttr) {
    instance(context, Context, "context");
    const { view } = creation.write(attr);
    const args = [context.unsafeHandle, view] as const;
    const handle = call("ibv_create_flow_action_esp", "create flow action", args);
    super(FlowActionEsp.#kind, handle, [context]);
    this.context = context;
  }

  /** Changes the attributes that are given (`ibv_modify_flow_action_esp`). */
  modify(attr: FlowActionEspAttr): void {
    const { view } = changes.write(attr);
    call("ibv_modify_flow_action_esp", "modify flow action", [this.unsafeHandle, view]);
  }
}

/**
 * Flow actions: IPsec ESP by the device.
 *
 * @module
 */

import type { IbvFlowAction } from "../../ffi/handles.ts";
import { enums, structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { type Members, members } from "../../ffi/members.ts";
import { bufferAddress } from "../../ffi/pointers.ts";
import { writeField } from "../../ffi/struct.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import { copyOfBytes, instance, show } from "../core/checks.ts";
import { check, checkHandle } from "../core/errors.ts";
import { type NativeKind, NativeResource } from "../core/native_resource.ts";
import { Context } from "../device/context.ts";
import { ENCAP_SIZE, writeEncap } from "./esp_encap.ts";
import type { FlowFilters } from "./flow_filter.ts";
import type { FlowSpecType } from "./flow_spec_type.ts";

/**
 * How the device applies ESP (`enum ibv_flow_action_esp_flags`), to be combined with `|`.
 *
 * - `FULL_OFFLOAD`: the device adds and removes the headers; otherwise (`INLINE_CRYPTO`) it only encrypts and decrypts
 * - `TRANSPORT`: transport mode; otherwise (`TUNNEL`) tunnel mode
 * - `ENCRYPT`: encrypts; otherwise (`DECRYPT`) decrypts
 * - `ESN_NEW_WINDOW`: the extended sequence number starts a new window
 *
 * @category Flow steering
 */
export const FlowActionEspFlags: Members<
  "ibv_flow_action_esp_flags",
  "IB_UVERBS_FLOW_ACTION_ESP_FLAGS_"
> = members("ibv_flow_action_esp_flags", "IB_UVERBS_FLOW_ACTION_ESP_FLAGS_");

/**
 * Attributes of an ESP action (`struct ibv_flow_action_esp_attr`).
 *
 * @category Flow steering
 */
export interface FlowActionEspAttr {
  /** The security association (`struct ibv_flow_action_esp`). Attributes that are left out are 0. */
  readonly espAttr?: {
    /** Security parameter index. */
    readonly spi?: number;
    /** Sequence number to start with. */
    readonly seq?: number;
    /** Bytes of padding for traffic flow confidentiality. */
    readonly tfcPad?: number;
    /** {@linkcode FlowActionEspFlags}, combined. */
    readonly flags?: number;
    /** Number of packets after which the association ends. */
    readonly hardLimitPkts?: bigint | number;
  };
  /** The key for AES-GCM (`struct ibv_flow_action_esp_keymat_aes_gcm`). It is needed to create an action. */
  readonly keymat?: {
    /** Initialization vector to start with. */
    readonly iv?: bigint | number;
    /** Salt, 32 bits. */
    readonly salt?: number;
    /** Length of the integrity check value in bytes, such as 16. */
    readonly icvLen: number;
    /** The key: 16, 24 or 32 bytes. It is copied. */
    readonly aesKey: Uint8Array;
  };
  /** The number of packets in the window of the replay protection; no protection if left out. */
  readonly replaySize?: number;
  /**
   * The headers that tunnel mode puts around the packet (`struct ibv_flow_action_esp_encap`), outermost first; none if left
   * out. At most 8. Fields of `val` that are left out are 0.
   */
  readonly espEncap?: readonly {
    [Header in keyof FlowFilters]: {
      readonly type: typeof FlowSpecType[Header];
      readonly val: FlowFilters[Header];
    };
  }[keyof FlowFilters][];
  /** The upper 32 bits of the extended sequence number. */
  readonly esn?: number;
}

type EspAttr = NonNullable<FlowActionEspAttr["espAttr"]>;
type AesGcmKeymat = NonNullable<FlowActionEspAttr["keymat"]>;

const esp: AttributeCodec<EspAttr> = codecOf<"ibv_flow_action_esp", EspAttr>(
  "ibv_flow_action_esp",
  "espAttr",
  { spi: {}, seq: {}, tfcPad: {}, flags: {}, hardLimitPkts: {} },
);

const KEY_LENGTHS = [16, 24, 32];

const keymat: AttributeCodec<AesGcmKeymat> = codecOf<
  "ibv_flow_action_esp_keymat_aes_gcm",
  AesGcmKeymat
>("ibv_flow_action_esp_keymat_aes_gcm", "keymat", {
  iv: {},
  salt: {},
  icvLen: { required: true },
  aesKey: {
    from: (value: unknown, what: string) => {
      const key = copyOfBytes(value, what);
      if (KEY_LENGTHS.includes(key.length)) return key;
      throw new RangeError(`Cannot use ${what} of ${key.length} bytes: it takes 16, 24 or 32`);
    },
    to: (bytes: Uint8Array<ArrayBuffer>) => bytes,
    required: true,
  },
});

const attrs: AttributeCodec<FlowActionEspAttr> = codecOf<
  "ibv_flow_action_esp_attr",
  FlowActionEspAttr
>("ibv_flow_action_esp_attr", "ESP attributes", {
  espAttr: { other: true },
  keymat: { other: true },
  replaySize: { other: true },
  espEncap: { other: true },
  esn: { mask: enums.ibv_flow_action_esp_mask.IBV_FLOW_ACTION_ESP_MASK_ESN },
});

/**
 * An action that encrypts or decrypts the packets of a flow with IPsec ESP (`struct ibv_flow_action`). Name it in the
 * specifications of a flow with {@linkcode FlowSpecType}.ACTION_HANDLE.
 *
 * @category Flow steering
 */
export class FlowActionEsp extends NativeResource<IbvFlowAction> {
  static readonly #kind: NativeKind<IbvFlowAction, FlowActionEsp> = {
    name: "flow action",
    destroy: (handle) =>
      check(
        "ibv_destroy_flow_action",
        "destroy flow action",
        verbs().ibv_destroy_flow_action(handle),
      ),
  };
  /** The device it belongs to. */
  readonly context: Context;

  /**
   * Makes an ESP action (`ibv_create_flow_action_esp`).
   *
   * @throws {TypeError} If an attribute has the wrong type, is missing or is unknown, or transport mode has headers.
   * @throws {RangeError} If a number is out of range, the key does not have 16, 24 or 32 bytes, or there are too many
   * headers.
   * @throws {VerbsError} If the device refuses, or has no flow actions (EOPNOTSUPP).
   */
  constructor(context: Context, attr: FlowActionEspAttr) {
    instance(context, Context, "context");
    const written = write(attr, {});
    if (!written.hasKey) throw new TypeError("Cannot create flow action: keymat is missing");
    const handle = checkHandle(
      "ibv_create_flow_action_esp",
      "create flow action",
      verbs().ibv_create_flow_action_esp(context.unsafeHandle, written.view),
    );
    super(FlowActionEsp.#kind, handle, [context]);
    this.context = context;
  }

  /** The handle of an object of this class. Called on an object of another class, a method stops here. */
  get #handle(): IbvFlowAction {
    return this.unsafeHandle;
  }

  /**
   * Changes the attributes that are given (`ibv_modify_flow_action_esp`).
   *
   * @throws {TypeError} If an attribute has the wrong type or is unknown.
   * @throws {RangeError} If a number is out of range.
   * @throws {VerbsError} If the device refuses.
   */
  modify(attr: FlowActionEspAttr): void {
    const { view } = write(attr);
    const result = verbs().ibv_modify_flow_action_esp(this.#handle, view);
    check("ibv_modify_flow_action_esp", "modify flow action", result);
  }
}

/** Offsets in one buffer, which holds the struct and what its pointers name, so that all of it lives as long. */
const FIELDS = structs.ibv_flow_action_esp_attr.fields;
const ESP_AT = align(structs.ibv_flow_action_esp_attr.size);
const KEYMAT_AT = align(ESP_AT + structs.ibv_flow_action_esp.size);
const REPLAY_AT = align(KEYMAT_AT + structs.ibv_flow_action_esp_keymat_aes_gcm.size);
const ENCAP_AT = align(REPLAY_AT + structs.ibv_flow_action_esp_replay_bmp.size);
const SIZE = ENCAP_AT + ENCAP_SIZE;

function align(offset: number): number {
  return Math.ceil(offset / 8) * 8;
}

/** Writes the attributes. A modification without `espAttr` sends no association, so that it stays as it is. */
function write(
  attr: FlowActionEspAttr,
  fallback?: EspAttr,
): { view: DataView<ArrayBuffer>; hasKey: boolean } {
  const view = new DataView(new ArrayBuffer(SIZE));
  const { given, mask } = attrs.writeTo(view, 0, attr);
  const start = bufferAddress(view);
  writeField(view, FIELDS.comp_mask, mask);
  const association = given.espAttr ?? fallback;
  if (association !== undefined) {
    const { given: { flags = 0 } } = esp.writeTo(view, ESP_AT, association);
    if (flags & FlowActionEspFlags.TRANSPORT && given.espEncap !== undefined) {
      throw new TypeError("Cannot use espEncap: transport mode puts no headers around packets");
    }
    writeField(view, FIELDS.esp_attr, start + BigInt(ESP_AT));
  }
  if (given.keymat !== undefined) writeKeymat(view, start, given.keymat);
  if (given.replaySize !== undefined) writeReplay(view, start, given.replaySize);
  if (given.espEncap !== undefined) {
    writeField(view, FIELDS.esp_encap, writeEncap(view, ENCAP_AT, given.espEncap));
  }
  return { view, hasKey: given.keymat !== undefined };
}

function writeKeymat(view: DataView<ArrayBuffer>, start: bigint, attr: AesGcmKeymat): void {
  const { size, fields } = structs.ibv_flow_action_esp_keymat_aes_gcm;
  const { given } = keymat.writeTo(view, KEYMAT_AT, attr);
  writeField(view, fields.key_len, given.aesKey.length, KEYMAT_AT);
  writeField(view, FIELDS.keymat_proto, KEYMAT_PROTO);
  writeField(view, FIELDS.keymat_len, size);
  writeField(view, FIELDS.keymat_ptr, start + BigInt(KEYMAT_AT));
}

const KEYMAT_PROTO = enums.ibv_flow_action_esp_keymat.IB_UVERBS_FLOW_ACTION_ESP_KEYMAT_AES_GCM;
const REPLAY_PROTO = enums.ibv_flow_action_esp_replay.IB_UVERBS_FLOW_ACTION_ESP_REPLAY_BMP;

function writeReplay(view: DataView<ArrayBuffer>, start: bigint, replaySize: number): void {
  if (!(Number.isInteger(replaySize) && replaySize >= 0 && replaySize <= 0xffff_ffff)) {
    throw new RangeError(`Cannot use replaySize ${show(replaySize)}: it is not a 32-bit integer`);
  }
  const { size, fields } = structs.ibv_flow_action_esp_replay_bmp;
  writeField(view, fields.size, replaySize, REPLAY_AT);
  writeField(view, FIELDS.replay_proto, REPLAY_PROTO);
  writeField(view, FIELDS.replay_len, size);
  writeField(view, FIELDS.replay_ptr, start + BigInt(REPLAY_AT));
}

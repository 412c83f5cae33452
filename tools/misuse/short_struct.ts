/** Gives a verb a struct that is too short, as no class does. */

import "../../tests/provider/recorder.ts";
import { structs, verbs } from "../../ffi/mod.ts";
import { Context, ProtectionDomain } from "../../mod.ts";

const pd = new ProtectionDomain(Context.open());
const short = new DataView(new ArrayBuffer(structs.ibv_ah_attr.size - 4));
verbs().ibv_create_ah(pd.unsafeHandle, short);
console.log("nobody has noticed it");

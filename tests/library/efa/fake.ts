// Puts a libefa that takes the recorder for an adapter in the place of libefa.

import { bindEfa } from "../../../ffi/efa.ts";
import { standIn } from "../stand_in.ts";

await standIn("EFA_LIBRARY", "fake_efa.c", bindEfa);

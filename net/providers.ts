/** The providers that differ from others in how datagrams go over their devices, a row each. */

import { isEfa } from "../internal/efa.ts";
import { EFA_DATAGRAMS } from "./efa/endpoint.ts";
import { udProviders } from "./ud/endpoint.ts";

udProviders.add(isEfa, EFA_DATAGRAMS);

/** Prints the path of the C program of requests, built with the flags that the environment chooses. */

import { requestsPath } from "../../tests/provider/compile.ts";

console.log(await requestsPath());

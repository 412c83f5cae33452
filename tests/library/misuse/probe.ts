// Runs cases of the matrix on the recorder.

import { casesOf } from "./lessons.ts";
import { disposalOrders } from "./orders.ts";
import { probe } from "./probing.ts";
import { scenarios } from "./scenarios.ts";
import { workerCases } from "./workers/cases.ts";

const ORDERS = 200;

if (import.meta.main) {
  await probe((plan) => [
    ...casesOf(plan),
    ...disposalOrders(ORDERS),
    ...scenarios(),
    ...workerCases(plan),
  ]);
}

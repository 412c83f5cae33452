import { type ClassOf, instanceOf, show, withArticle } from "../../internal/checks.ts";
import { isResource, Resource } from "./resource.ts";

/** Checks that a value is an instance of a class, and not an object that only inherits from one. Returns it. */
export function instance<T>(value: unknown, type: ClassOf<T>, what: string): T {
  const found = instanceOf(value, type, what, instance);
  if (!(found instanceof Resource) || isResource(found)) return found;
  throw new TypeError(
    `Cannot use ${what} ${show(value)}: it is not ${withArticle(type.name)}, but looks like one`,
  );
}

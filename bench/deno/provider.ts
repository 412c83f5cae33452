/** What polling finds in a queue of the no-op provider, by its completion vector. See ../c/provider.h. */

/** Nothing. */
export const EMPTY = 1;
/** As many completions of received datagrams as fit. */
export const RECEIVES = 2;

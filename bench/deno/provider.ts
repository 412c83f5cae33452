/** What polling finds in a queue of the no-op provider, by its completion vector. See ../c/provider.h. */

/** Nothing. */
export const EMPTY = 1;
/** As many completions of received datagrams as fit. */
export const RECEIVES = 2;
/** One completion after each event, with the time of the event as its wr_id. */
export const EVENTS = 3;

// What polling finds in a queue of provider.c, by the completion vector that it was made with.
enum vector {
  // As many completions of sends as fit, of all queue pairs made with the queue in turn.
  QUEUE_SENDS,
  // Nothing.
  QUEUE_EMPTY,
  // As many completions of received datagrams as fit.
  QUEUE_RECEIVES,
  // One completion, which comes with its event a moment after the queue was armed. Its wr_id is the time of both.
  QUEUE_TICKS,
  QUEUE_VECTORS,
};

// Long enough to fall asleep in between, and short beside all else.
enum { TICK_MICROSECONDS = 500 };

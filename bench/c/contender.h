// What the rows of the C contender share.
enum { SLOT = 128, MAX_PARTS = 1000, MOST = 256 };

#include "base.h"

enum { BOTH = 2 * LIST };

// Memory for messages, which all rows use.
static inline struct ibv_mr *memory(struct device *d)
{
  static struct ibv_mr *mr;

  return mr ? mr : (mr = create_mr(d, MOST * SLOT));
}

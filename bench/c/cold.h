// What a program does first: it ends after the first poll or the first reply.
static void cold(const char *what)
{
  struct device d = open_device();

  if (!strcmp(what, "poll"))
    poll_empty(&d, 1, 0);
  else if (!strcmp(what, "reply"))
    answer_uncached(&d, 1, 1);
  else
    need(0, "do that first");
}

// What a program does first: it ends after the first poll, the first answer, or the first 1000 messages.
static void cold(const char *what)
{
  struct device d = open_device();

  if (!strcmp(what, "poll"))
    poll_empty(&d, 1, 0);
  else if (!strcmp(what, "answer"))
    answer_uncached(&d, 1, 1);
  else if (!strcmp(what, "messages"))
    changed(&d, 1000, LIST);
  else
    need(0, "do that first");
}

// Groups, and the queue pairs in them.
#include <string.h>
#include "shm.h"

static const union ibv_gid none;

static struct group *find(const union ibv_gid *gid)
{
	for (unsigned i = 0; i < MOST_GROUPS; i++)
		if (memcmp(&segment->groups[i].gid, gid, sizeof *gid) == 0)
			return &segment->groups[i];
	return NULL;
}

const struct group *group_of(const union ibv_gid *gid)
{
	return find(gid);
}

// Puts a number in the place of another one. Returns whether that was there.
static bool replace(struct group *group, uint32_t old, uint32_t new)
{
	for (unsigned i = 0; group && i < MEMBERS; i++)
		if (group->numbers[i] == old) {
			group->numbers[i] = new;
			return true;
		}
	return false;
}

static bool join(uint32_t number, const union ibv_gid *gid)
{
	struct group *group = find(gid);

	if (!group && (group = find(&none)))
		group->gid = *gid;
	return replace(group, 0, number);
}

static bool leave(struct group *group, uint32_t number)
{
	static const struct group empty;

	if (!replace(group, number, 0))
		return false;
	if (memcmp(group->numbers, empty.numbers, sizeof empty.numbers) == 0)
		group->gid = none;
	return true;
}

bool shm_change_group(uint32_t number, const union ibv_gid *gid, bool joins)
{
	take_lock(&segment->lock);
	bool is_done = joins ? join(number, gid) : leave(find(gid), number);
	give_lock(&segment->lock);
	return is_done;
}

void leave_groups(uint32_t number)
{
	for (unsigned i = 0; i < MOST_GROUPS; i++)
		while (leave(&segment->groups[i], number))
			;
}

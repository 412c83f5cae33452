// The device that carries messages, within a process and between processes of one host, by shared memory. All that several
// processes use lies in one segment, and places in it are offsets. See README.md of the recorder.
#pragma once
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../core/newer.h"

// Whether this is the library whose device moves data at full speed and keeps no records.
#ifndef IS_PLAIN
#define IS_PLAIN 0
#endif

enum {
	MOST_PROCESSES = 1 << 16, MOST_QPS = 1 << 15, MOST_MRS = 1 << 16, MOST_GROUPS = 64, MEMBERS = 64, MOST_SGES = 8,
	// The longest datagram, and the longest message that travels in the segment: longer ones are copied from memory to memory.
	MTU = 4096, GRH_SIZE = sizeof(struct ibv_grh), INLINE = 248, MULTICAST_QPN = 0xffffff,
};

// Held by a thread of the process whose number it has; 0 if it is free. Who waits takes it over from a process that has ended.
typedef _Atomic uint32_t lock_t;

// A process on the network. Its number is its place in the segment, from 1.
struct process {
	// A thread that lives as long as the process. The kernel adds a bit when that ends, see set_robust_list(2).
	_Atomic uint32_t thread;
	int pid;
	struct robust_list entry;
};

// A descriptor of a process, into which others write.
struct pipe_end {
	uint32_t process;
	int fd;
	uint64_t serial;
};

struct receive {
	uint64_t wr_id;
	uint32_t num_sge;
	uint32_t length;
	struct ibv_sge sges[MOST_SGES];
	// Once it is taken: how many of its queue were taken by then.
	uint32_t taken;
} __attribute__((aligned(64)));

// A receive queue, of one queue pair or shared. The owner writes the tail, and who holds the lock the rest of its line: a
// processor waits for a line of memory that another one has written.
struct receive_queue {
	lock_t lock;
	_Atomic uint32_t head;
	uint32_t known_tail;
	_Alignas(64) _Atomic uint32_t tail;
	_Alignas(64) uint32_t mask;
	uint32_t max_sge;
	// That of its memory: the process and its protection domain.
	uint64_t domain;
	// Of a shared queue: its limit, its address at the owner, and where the owner reads events.
	_Atomic uint32_t limit;
	uint64_t srq;
	struct pipe_end events;
	_Alignas(64) struct receive receives[];
};

// A completion, and the bytes of a message that the owner copies to its memory when it polls.
struct entry {
	// Its number + 1 once it is written.
	_Atomic uint64_t serial;
	uint64_t wr_id;
	struct ibv_sge first;
	// The protection domain of the memory for the bytes.
	uint32_t pd;
	// Of a receive: how many of its queue were taken by then.
	uint32_t taken;
	uint8_t status, opcode, wc_flags, num_sge : 4, is_receive : 1, is_solicited : 1;
	uint32_t byte_len, imm, qp_num, src_qp;
	uint16_t length;
	// How many sends it ends, signaled or not.
	uint16_t sends;
	// From which time on it can be seen, in nanoseconds.
	uint64_t when;
	char bytes[INLINE];
	struct ibv_sge others[MOST_SGES - 1];
} __attribute__((aligned(64)));

enum armed { UNARMED, ARMED, ARMED_SOLICITED };

struct completions {
	lock_t lock;
	uint64_t tail, known_head;
	_Alignas(64) _Atomic uint64_t head;
	_Alignas(64) _Atomic uint32_t armed;
	bool is_overrun;
	uint64_t mask, cq;
	struct pipe_end channel, events;
	// Where the long messages are: for each entry GRH_SIZE + MTU bytes.
	uint64_t bytes;
	_Alignas(64) struct entry entries[];
};

// What everybody may know of a queue pair.
struct shared_qp {
	// 0 if it is free.
	_Atomic uint32_t number;
	_Atomic uint32_t state;
	uint32_t type, qkey, dest, access, min_rnr_timer, process;
	// Its own port, and the one that its path leads to.
	uint32_t route, to;
	bool has_srq;
	uint64_t domain, receives, completions, qp;
	struct pipe_end events;
	_Alignas(64) lock_t lock;
};

struct shared_mr {
	// That of the owner; peers have the next one. 0 if it is free.
	_Atomic uint32_t key;
	uint32_t access;
	uint64_t domain, addr, iova, length;
};

struct group {
	union ibv_gid gid;
	uint32_t numbers[MEMBERS];
};

// A new one is all zeros.
struct segment {
	lock_t lock, atomics;
	_Atomic uint32_t joined;
	uint32_t next_qp, next_mr;
	uint64_t serial;
	// Memory that was freed, by the logarithm of its size, and how much was ever given out.
	uint64_t freed[40];
	uint64_t used;
	// Datagrams that nobody received, for those who test and measure.
	_Atomic uint64_t lost;
	struct process processes[MOST_PROCESSES];
	struct group groups[MOST_GROUPS];
	struct shared_mr mrs[MOST_MRS];
	struct shared_qp qps[MOST_QPS];
	_Alignas(4096) char heap[];
};

// What a process keeps about its own objects, within these. `shared` is NULL where the object moves no data.
struct shm_cq {
	lock_t lock;
	struct completions *shared;
};

struct shm_rq {
	lock_t lock;
	uint32_t size;
	// How many were taken, at least.
	_Atomic uint32_t known_head;
	struct receive_queue *shared;
};

struct stalled;

struct shm_qp {
	lock_t lock;
	struct shared_qp *shared;
	struct shm_rq own_receives;
	struct shm_rq *receives;
	struct completions *sent;
	uint32_t max_send, max_sge, max_inline;
	bool all_signaled;
	_Atomic uint32_t in_flight;
	uint32_t unsignaled;
	// The peer of the requests that are being posted, whose lock is held, when they arrive there, and whether it has got any.
	struct shared_qp *held;
	uint64_t when;
	bool has_delivered, is_solicited;
	// Sends that wait for the peer, oldest first, and what the oldest one has been through.
	struct stalled *oldest, **end;
	uint32_t failures;
	uint64_t next_try;
	bool is_listed;
};

// How datagrams to an address begin, and the port that it leads to.
struct route {
	char header[GRH_SIZE];
	union ibv_gid dgid;
	// 0 if it leads nowhere.
	uint32_t to;
};

// A request that is being executed.
struct message {
	struct shm_qp *from;
	const struct ibv_send_wr *wr;
	uint64_t length;
	// Of a datagram.
	const struct route *route;
};

// How an attempt ends. An unknown peer answers nothing, one that is being set up answers nothing yet.
enum outcome { ENDED, UNKNOWN, SILENT, NOT_READY };

// segment.c
extern struct segment *segment;
// How long a message is on its way.
extern uint64_t delay_ns;
// The number of this process's host, by which its addresses differ from those of other hosts.
extern unsigned own_host;
// A segment of this process alone.
void make_private_segment(void);
uint64_t now_ns(void);
void *place(uint64_t offset);
uint64_t offset_of(const void *pointer);
// Zeroed memory of the segment; NULL if there is not so much.
void *allocate(size_t size);
void release(void *memory, size_t size);
struct pipe_end pipe_of(int fd);

// process.c
extern uint32_t own_process;
void join_network(void);
bool has_ended(uint32_t process);
int pid_of(uint32_t process);
void take_lock(lock_t *lock);
void give_lock(lock_t *lock);

// regions.c
uint64_t memory_domain(const struct ibv_pd *pd);
uint64_t own_domain(uint32_t pd);
uint32_t process_of(uint64_t domain);
// Where a process has memory that was registered; 0 if it was not, or not in the domain, or not for this access.
uint64_t reach(uint32_t key, uint64_t domain, uint64_t addr, uint64_t length, uint32_t access);
uint64_t length_of(const struct ibv_sge *sges, int count);
// Whether the first bytes of a list can be used so.
bool may_use(uint64_t domain, const struct ibv_sge *sges, int count, uint64_t length, uint32_t access);

// copies.c
// Copies the bytes of a request that may use its elements.
void gather(uint64_t domain, const struct ibv_send_wr *wr, char *to);
// Copies to memory of this process. Returns whether that was allowed.
bool scatter(uint64_t domain, const struct ibv_sge *sges, int count, const char *from, uint64_t length);
// Copies to a receive that may be used. Returns whether that was possible.
bool copy_message(const struct message *message, uint64_t to, const struct receive *receive);
// Copies between a request and memory of any process.
bool copy_remote(const struct message *message, uint64_t domain, uint64_t address);
// Does an atomic operation on memory of any process, and gives what was there before.
bool change_word(const struct ibv_send_wr *wr, uint64_t domain, uint64_t address, uint64_t *before);

// events.c
void send_event(const struct pipe_end *end, const void *bytes, size_t size);
void send_async_event(const struct pipe_end *end, enum ibv_event_type type, uint64_t element);

// completions.c
// The place of the next completion, of which the caller holds the queue until it closes it; NULL if the queue is full.
struct entry *open_entry(struct completions *to);
void close_entry(struct completions *to, struct entry *entry, bool is_solicited);
// Sends the event that the owner may wait for. One call is enough for several entries.
void fire(struct completions *of, bool is_solicited);
// Where the bytes of an entry are, whose length is known.
char *bytes_of(struct completions *of, struct entry *entry);
int take_completions(struct shm_cq *cq, int most, struct ibv_wc *wc);
void arm(struct shm_cq *cq, bool solicited_only);

// peers.c
// Takes the lock of a peer, unless the request before has the same peer.
void hold(struct shm_qp *qp, struct shared_qp *peer);
// Gives the lock of the peer that the sends of a list share, and tells the peer what has come.
void let_go(struct shm_qp *qp);

// receives.c: all need the lock of the queue pair.
void drop_receives(struct shared_qp *qp);
void break_down(struct shared_qp *qp);
void break_peer(struct shared_qp *peer, enum ibv_event_type type);
// Gives a message to a peer, and tells the status of the send if that is no success.
enum outcome deliver(const struct message *message, struct shared_qp *peer, enum ibv_wc_status *status);

// datagrams.c
enum ibv_wc_status send_datagram(struct message *message);

// connections.c
// Whether a request writes to its own elements.
bool brings_back(const struct ibv_send_wr *wr);
enum outcome send_connected(const struct message *message, enum ibv_wc_status *status);

// sends.c
extern struct shm_qp *own_qps[MOST_QPS];
struct shared_qp *qp_of(uint32_t number);
bool may_receive(const struct shared_qp *qp);
int send_one(struct shm_qp *qp, const struct ibv_send_wr *wr);
void end_send(struct shm_qp *qp, const struct ibv_send_wr *wr, enum ibv_wc_status status);
// Ends a send if it has succeeded or failed. Returns false if it waits on.
bool attempt(struct shm_qp *qp, const struct ibv_send_wr *wr);

// stalled.c
void keep_send(struct shm_qp *qp, const struct ibv_send_wr *wr);
void flush_sends(struct shm_qp *qp);
void forget_sends(struct shm_qp *qp);
// Whether a send that was tried in vain has failed for good. Otherwise it notes when it is tried again.
bool give_up(struct shm_qp *qp, enum outcome outcome);
// Tries the sends again that wait for their peers. Returns when the next of them can be tried.
uint64_t try_again(void);
// Comes back when no queue pair that has ended is in use.
void await_attempts(void);
// Tries sends again when their time has come; never comes back.
void watch_sends(void);

// routes.c
// Returns whether the address has a GRH and the port has its source.
bool set_route(struct route *route, const struct ibv_ah_attr *attr);
uint32_t route_of(unsigned host, unsigned port);
// Which port an address belongs to; 0 if to none.
uint32_t route_to(const union ibv_gid *gid);
void put_header(char *to, const struct route *route, uint32_t length);

// groups.c
const struct group *group_of(const union ibv_gid *gid);
void leave_groups(uint32_t number);

// What the verbs of the recorder call. Those that make something return whether there is room.
struct cq_object;
struct srq_object;
struct qp_object;
bool shm_make_cq(struct cq_object *cq);
void shm_end_cq(struct cq_object *cq);
bool shm_make_srq(struct srq_object *srq);
void shm_end_srq(struct srq_object *srq);
void shm_limit_srq(struct srq_object *srq);
bool shm_make_qp(struct qp_object *qp);
void shm_end_qp(struct qp_object *qp);
void shm_change_qp(struct qp_object *qp, int mask);
bool shm_change_group(uint32_t number, const union ibv_gid *gid, bool joins);
bool shm_keep_mr(struct ibv_mr *mr, uint64_t iova, uint32_t access);
// Its access changes if one is given.
void shm_change_mr(const struct ibv_mr *mr, uint64_t iova, const int *access);
void shm_forget_mr(const struct ibv_mr *mr);
// posting.c
// Notes how many receives of a queue were taken.
void know_head(struct shm_rq *rq, uint32_t head);
int shm_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int shm_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int shm_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int shm_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
int shm_req_notify_cq(struct ibv_cq *cq, int solicited_only);

// The device that carries messages, within a process and between processes of one host, by shared memory. All that several
// processes use lies in one segment, and places in it are offsets. See README.md of the recorder.
#pragma once
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
	MOST_QPS = 1 << 15, MOST_MRS = 1 << 16, MOST_GROUPS = 64, MEMBERS = 64, MOST_SGES = 8,
	// The longest datagram, and the longest message that travels in the segment: longer ones are copied from memory to memory.
	MTU = 4096, GRH_SIZE = sizeof(struct ibv_grh), INLINE = 248, MULTICAST_QPN = 0xffffff,
};

// Held by a thread of the process whose number it has; 0 if it is free. Who waits takes it over from a process that has ended.
typedef _Atomic uint32_t lock_t;

// A descriptor of a process, into which others write.
struct pipe_end {
	int pid;
	int fd;
	uint64_t serial;
};

struct receive {
	uint64_t wr_id;
	uint32_t num_sge;
	uint32_t length;
	struct ibv_sge sges[MOST_SGES];
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
	// At the owner.
	uint64_t rq;
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
	// At the owner: the queue whose receive it ends, or NULL.
	uint64_t rq;
	uint8_t status, opcode, num_sge, wc_flags;
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
	uint32_t type, qkey, dest, access, route, min_rnr_timer;
	int pid;
	bool has_srq;
	uint64_t receives, completions, qp;
	struct pipe_end events;
	_Alignas(64) lock_t lock;
};

struct shared_mr {
	// Without its last byte, in which local and remote keys differ; 0 if it is free.
	_Atomic uint32_t key;
	int pid;
	uint32_t access;
	uint64_t addr, iova, length;
};

struct group {
	union ibv_gid gid;
	uint32_t numbers[MEMBERS];
};

// A new one is all zeros.
struct segment {
	lock_t lock, atomics;
	uint32_t next_qp, next_mr;
	uint64_t serial;
	// Memory that was freed, by the logarithm of its size, and how much was ever given out.
	uint64_t freed[40];
	uint64_t used;
	// Datagrams that nobody received, for those who test and measure.
	_Atomic uint64_t lost;
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
	// Receives that were posted and whose completions were not polled.
	_Atomic uint32_t in_flight;
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
	uint32_t to;
};

// segment.c
extern struct segment *segment;
extern uint32_t own_pid;
// How long a message is on its way.
extern uint64_t delay_ns;
// The number of this process's host, by which its addresses differ from those of other hosts.
extern unsigned own_host;
// A segment of this process alone.
void make_private_segment(void);
void take_lock(lock_t *lock);
void give_lock(lock_t *lock);
bool is_alive(int pid);
uint64_t now_ns(void);
void *place(uint64_t offset);
uint64_t offset_of(const void *pointer);
// Zeroed memory of the segment.
void *allocate(size_t size);
void release(void *memory, size_t size);
struct pipe_end pipe_of(int fd);

// memory.c
// Where a process has memory that was registered; 0 if it was not, or not for this access.
uint64_t reach(uint32_t key, int pid, uint64_t addr, uint64_t length, uint32_t access);
uint64_t length_of(const struct ibv_sge *sges, int count);
// Whether a request may use its elements.
bool may_use(const struct ibv_send_wr *wr, uint32_t access);
// Copies the bytes of a request that may use its elements.
void gather(const struct ibv_send_wr *wr, char *to);
// Copies to memory of this process. Returns whether that was allowed.
bool scatter(const struct ibv_sge *sges, int count, const char *from, uint64_t length);
// Copies from the elements of a request to those of a receive of any process. Returns whether that was allowed and possible.
bool copy_message(const struct ibv_send_wr *wr, int pid, const struct receive *receive);
// Copies between the elements of a request and memory of any process.
bool copy_remote(const struct ibv_send_wr *wr, int pid, uint64_t address, bool reads);
// Does an atomic operation on memory of any process, and gives what was there before.
bool change_word(const struct ibv_send_wr *wr, int pid, uint64_t address, uint64_t *before);

// completions.c
// The place of the next completion, of which the caller holds the queue until it closes it; NULL if the queue is full.
struct entry *open_entry(struct completions *to);
void close_entry(struct completions *to, struct entry *entry);
// Sends the event that the owner may wait for. One call is enough for several entries.
void fire(struct completions *of, bool is_solicited);
void send_async_event(const struct pipe_end *end, enum ibv_event_type type, uint64_t element);
int take_completions(struct shm_cq *cq, int most, struct ibv_wc *wc);
void arm(struct shm_cq *cq, bool solicited_only);

// transport.c
extern struct shm_qp *own_qps[MOST_QPS];
struct shared_qp *qp_of(uint32_t number);
// Both need the lock of the queue pair.
void break_down(struct shared_qp *qp);
void drop_receives(struct shared_qp *qp);
int send_one(struct shm_qp *qp, const struct ibv_send_wr *wr);
// Gives the lock of the peer that the sends of a list share, and tells the peer what has come.
void let_go(struct shm_qp *qp);
void flush_sends(struct shm_qp *qp);
void forget_sends(struct shm_qp *qp);
// Tries the sends again that wait for their peers. Returns when the next of them can be tried.
uint64_t try_again(void);

// routes.c
bool set_route(struct route *route, const struct ibv_ah_attr *attr);
uint32_t route_of(unsigned host, unsigned port);
void put_header(char *to, const struct route *route, uint32_t length);

// objects.c: what the verbs of the recorder call. Those that make something return whether there is room.
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
// As the ops of a context.
int shm_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int shm_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int shm_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int shm_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
int shm_req_notify_cq(struct ibv_cq *cq, int solicited_only);

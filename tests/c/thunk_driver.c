// Checks an image of thunks from C: registers, stack, arguments, errno, on whatever machine this is built for.
//
//   thunk_driver addresses      prints "name address" of every function that thunks may lead to (build with -no-pie)
//   thunk_driver check IMAGE    opens the image and prints each failure; the exit status is 0 if there were none
//   thunk_driver steps IMAGE    the same for an image with native_steps()
//
// Thunks: jump_address_N and errno_address_N lead to mixN; jump_path_P_N and errno_path_P_N find it along path P below.
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "thunk_target.c"

// Calls function(arguments 0 to 7) with a known number in every register that it has to keep, writes its result, and
// returns how many of those registers, or of the words of its caller's frame, it changed.
uint64_t call_checked(void *function, const uint64_t arguments[8], uint64_t *result);

#if defined(__x86_64__)
__asm__(".text\n"
        ".globl call_checked\n"
        "call_checked:\n"
        "    .irp r, rbp, rbx, r12, r13, r14, r15, rdx\n"
        "    push %\\r\n"
        "    .endr\n"
        "    mov %rdi, %r11\n"
        "    mov %rsi, %r10\n"
        "    pushq 56(%r10)\n"
        "    pushq 48(%r10)\n"
        "    mov (%r10), %rdi\n"
        "    mov 8(%r10), %rsi\n"
        "    mov 16(%r10), %rdx\n"
        "    mov 24(%r10), %rcx\n"
        "    mov 32(%r10), %r8\n"
        "    mov 40(%r10), %r9\n"
        "    .irp r, rbp, rbx, r12, r13, r14, r15\n"
        "    mov $-0x5a5a5a5a, %\\r\n"
        "    .endr\n"
        "    call *%r11\n"
        "    add $16, %rsp\n"
        "    pop %r10\n"
        "    mov %rax, (%r10)\n"
        "    xor %eax, %eax\n"
        "    .irp r, rbp, rbx, r12, r13, r14, r15\n"
        "    xor %ecx, %ecx\n"
        "    cmp $-0x5a5a5a5a, %\\r\n"
        "    setne %cl\n"
        "    add %rcx, %rax\n"
        "    .endr\n"
        "    .irp r, r15, r14, r13, r12, rbx, rbp\n"
        "    pop %\\r\n"
        "    .endr\n"
        "    ret\n");
#elif defined(__aarch64__)
__asm__(".text\n"
        ".globl call_checked\n"
        "call_checked:\n"
        "    stp x29, x30, [sp, #-112]!\n"
        "    stp x19, x20, [sp, #16]\n"
        "    stp x21, x22, [sp, #32]\n"
        "    stp x23, x24, [sp, #48]\n"
        "    stp x25, x26, [sp, #64]\n"
        "    stp x27, x28, [sp, #80]\n"
        "    str x2, [sp, #96]\n"
        "    mov x16, x0\n"
        "    mov x17, x1\n"
        "    ldp x0, x1, [x17]\n"
        "    ldp x2, x3, [x17, #16]\n"
        "    ldp x4, x5, [x17, #32]\n"
        "    ldp x6, x7, [x17, #48]\n"
        "    .irp n, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29\n"
        "    mov x\\n, #-0x5a5a\n"
        "    .endr\n"
        "    stp x19, x19, [sp, #-16]!\n"
        "    blr x16\n"
        "    ldp x11, x12, [sp], #16\n"
        "    ldr x9, [sp, #96]\n"
        "    str x0, [x9]\n"
        "    mov x0, #0\n"
        "    mov x9, #-0x5a5a\n"
        "    .irp n, 11, 12, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29\n"
        "    cmp x\\n, x9\n"
        "    cinc x0, x0, ne\n"
        "    .endr\n"
        "    ldp x27, x28, [sp, #80]\n"
        "    ldp x25, x26, [sp, #64]\n"
        "    ldp x23, x24, [sp, #48]\n"
        "    ldp x21, x22, [sp, #32]\n"
        "    ldp x19, x20, [sp, #16]\n"
        "    ldp x29, x30, [sp], #112\n"
        "    ret\n");
#endif

static void *const targets[] = {mix0, mix1, mix2, mix3, mix4, mix5, mix6, mix7};
#define PARAMETERS 7

static int failures;

static void expect(int good, const char *thunk, const char *what)
{
    if (good) return;
    printf("%s: %s\n", thunk, what);
    failures++;
}

// An object to start from, and room around it and the objects it leads to for every offset a path may have.
static uint64_t objects[3][8192];
#define MIDDLE(i) ((char *)&objects[i][4096])

static void put(char *object, long offset, void *value) { memcpy(object + offset, &value, sizeof value); }

#define PATHS 5

// The tests name the same offsets.
static void lay_path(int path, void *target)
{
    memset(objects, 0, sizeof objects);
    char *first = MIDDLE(0), *second = MIDDLE(1), *third = MIDDLE(2);
    switch (path) {
    case 0: // [48]
        put(first, 48, target);
        break;
    case 1: // [0, 96]
        put(first, 0, second);
        put(second, 96, target);
        break;
    case 2: // [-320]
        put(first, -320, target);
        break;
    case 3: // [8, -4088]
        put(first, 8, second);
        put(second, -4088, target);
        break;
    case 4: // [-8, 32760, 0]
        put(first, -8, second);
        put(second, 32760, third);
        put(third, 0, target);
        break;
    }
}

// What a direct call gives, and the errno it sets.
static uint64_t direct(int parameters, const uint64_t arguments[8], int *kept)
{
    uint64_t result;
    errno = 0;
    call_checked(targets[parameters], arguments, &result);
    *kept = errno;
    return result;
}

static void check_call(void *image, const char *name, int parameters, int keeps_errno, uint64_t first)
{
    void *thunk = dlsym(image, name);
    if (!thunk) return expect(0, name, "not found");
    // Several rounds: the targets set errno in about half of them.
    for (uint64_t round = 0; round < 16; round++) {
        uint64_t arguments[8];
        for (int i = 0; i < 8; i++) arguments[i] = (round + 1) * (i + 1) * 0xf0e1d2c3b4a59687;
        if (first) arguments[0] = first;
        int wanted_errno, cell[2] = {0x5555, 0x5555};
        uint64_t wanted = direct(parameters, arguments, &wanted_errno), result;
        if (keeps_errno) arguments[parameters] = (uintptr_t)&cell[0];
        errno = 0x7777;
        expect(call_checked(thunk, arguments, &result) == 0, name, "changes registers that it must keep");
        expect(result == wanted, name, "returns another result");
        expect(cell[0] == (keeps_errno ? wanted_errno : 0x5555), name, "keeps another errno");
        expect(cell[1] == 0x5555, name, "writes beyond the errno cell");
    }
}

static void check_image(void *image)
{
    char name[64];
    for (int n = 0; n <= PARAMETERS; n++) {
        for (int keeps_errno = 0; keeps_errno <= 1; keeps_errno++) {
            const char *mode = keeps_errno ? "errno" : "jump";
            sprintf(name, "%s_address_%d", mode, n);
            check_call(image, name, n, keeps_errno, 0);
            for (int path = 0; n > 0 && path < PATHS; path++) {
                sprintf(name, "%s_path_%d_%d", mode, path, n);
                lay_path(path, targets[n]);
                check_call(image, name, n, keeps_errno, (uintptr_t)MIDDLE(0));
            }
        }
    }
    expect(dlsym(image, "nothing") == 0, "nothing", "found");
    expect(misaligned_calls() == 0, "image", "misaligns the stack");
}

// The steps of ffi/library/native_steps.ts: two return what is wanted, the third does not, and the last one is never called.
static void check_steps(void *image)
{
    struct {
        void *function;
        uint64_t arguments[3];
        int wanted, result;
    } steps[5] = {{0}};
    uint64_t arguments[8] = {(uintptr_t)steps}, done;
    int kept;
    for (int i = 0; i < 4; i++) {
        uint64_t values[8] = {i + 1, 0xf0e1d2c3b4a59687 * (i + 1), i};
        memcpy(steps[i].arguments, values, sizeof steps[i].arguments);
        steps[i].function = targets[3];
        steps[i].wanted = direct(3, values, &kept) + (i == 2);
        steps[i].result = 0x5555;
    }
    for (int last = 2; last >= 0; last--) {
        void *run = dlsym(image, "native_steps");
        if (!run) return expect(0, "native_steps", "not found");
        expect(call_checked(run, arguments, &done) == 0, "native_steps", "changes registers that it must keep");
        expect((int)done == last, "native_steps", "stops elsewhere");
        for (int i = 0; i < last; i++) expect(steps[i].result == steps[i].wanted, "native_steps", "keeps another result");
        expect(steps[3].result == 0x5555, "native_steps", "goes on after an unwanted result");
        if (last > 0) steps[last - 1].function = NULL; // the end of the list
    }
    expect(misaligned_calls() == 0, "image", "misaligns the stack");
}

int main(int count, char **words)
{
    if (count == 2 && strcmp(words[1], "addresses") == 0) {
        for (int n = 0; n <= PARAMETERS; n++) printf("mix%d %" PRIuPTR "\n", n, (uintptr_t)targets[n]);
        printf("errno_location %" PRIuPTR "\n", (uintptr_t)errno_location);
        return 0;
    }
    if (count != 3) return 2;
    void *image = dlopen(words[2], RTLD_NOW);
    if (!image) {
        printf("%s\n", dlerror());
        return 1;
    }
    if (strcmp(words[1], "steps") == 0) check_steps(image);
    else check_image(image);
    printf("%d failures\n", failures);
    return failures != 0;
}

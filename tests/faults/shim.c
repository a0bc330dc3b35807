/* Preloaded into a process under test: counts the calls that change something outside of it, and at the n-th of them
   kills it, tears the write in two, stops it, or fails as a full or read-only disk would.

   What counts: calls on regular files and folders that write or rename, link, remove, make, truncate, flush or open
   for writing; what is sent to a socket (a database is one); shared mappings of files that can be written. Pipes,
   terminals and the first three descriptors do not count. The counter and a list of the calls lie in memory that a
   forking server shares with its children, so that it knows them also of one that was killed. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { OFF, COUNT, KILL, TEAR, STOP, FULL, READ_ONLY };
enum { DATA = 1, MAKES = 2, CHANGES = 4, SENDS = 8, FLUSHES = 16 };
enum { MOST = 1 << 16, NAME = 24 };

struct record {
    char name[NAME];
    int64_t size;
    int64_t kind;
};

struct shared {
    _Atomic int64_t count;
    struct record calls[MOST];
};

static struct shared *told;
static _Atomic int mode;
static int64_t at;
static _Atomic int64_t clock_step, clock_shift;

/* ---------------------------------------------------------------- for the harness */

int faults_setup(void) {
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return told == MAP_FAILED ? -1 : 0;
}

void faults_arm(int what, int64_t when) {
    atomic_store(&told->count, 0);
    at = when;
    atomic_store(&mode, what);
}

void faults_disarm(void) { atomic_store(&mode, OFF); }

int64_t faults_count(void) { return atomic_load(&told->count); }

const char *faults_name(int64_t call) { return told->calls[call % MOST].name; }

int64_t faults_size(int64_t call) { return told->calls[call % MOST].size; }

int64_t faults_kind(int64_t call) { return told->calls[call % MOST].kind; }

/* From now on the wall clock goes back by so many seconds whenever it is read. */
void faults_clock(int64_t step) {
    atomic_store(&clock_shift, 0);
    atomic_store(&clock_step, step);
}

/* ---------------------------------------------------------------- one call */

static int matters(int fd) {
    struct stat status;
    if (fd <= 2 || fstat(fd, &status) != 0)
        return 0;
    return S_ISREG(status.st_mode) || S_ISDIR(status.st_mode) ? DATA : S_ISSOCK(status.st_mode) ? SENDS : 0;
}

static void end(void) {
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

/* What happens to this call: 0 goes on, -1 fails with errno set, 1 is to be torn by the caller. */
static int fate(const char *name, int kind, int64_t size) {
    int now = atomic_load(&mode);
    if (now == OFF || !told || !kind)
        return 0;
    int64_t number = atomic_fetch_add(&told->count, 1) + 1;
    struct record *call = &told->calls[(number - 1) % MOST];
    strncpy(call->name, name, NAME - 1);
    call->size = size;
    call->kind = kind;
    if (now == KILL && number == at)
        end();
    if (now == TEAR && number == at)
        return 1;
    if (now == STOP && number == at)
        raise(SIGSTOP);
    if (now == FULL && number >= at && (kind & (DATA | MAKES | FLUSHES)) && !(kind & SENDS)) {
        errno = ENOSPC;
        return -1;
    }
    if (now == READ_ONLY && number >= at && !(kind & (SENDS | FLUSHES))) {
        errno = EROFS;
        return -1;
    }
    return 0;
}

#define REAL(type, name, ...)                                                                                          \
    static type (*real)(__VA_ARGS__);                                                                                  \
    if (!real)                                                                                                         \
        real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

/* A call that happens as a whole: torn means done, and then killed. */
#define WHOLE(type, name, kind, size, params, args)                                                                    \
    type name params {                                                                                                 \
        static type(*real) params;                                                                                     \
        if (!real)                                                                                                     \
            real = (type(*) params)dlsym(RTLD_NEXT, #name);                                                            \
        int found = fate(#name, kind, size);                                                                           \
        if (found < 0)                                                                                                 \
            return -1;                                                                                                 \
        type result = real args;                                                                                       \
        if (found > 0)                                                                                                 \
            end();                                                                                                     \
        return result;                                                                                                 \
    }

/* A call that writes bytes: torn means that the first half arrives. */
#define BYTES(name, params, args, half)                                                                                \
    ssize_t name params {                                                                                              \
        static ssize_t(*real) params;                                                                                  \
        if (!real)                                                                                                     \
            real = (ssize_t(*) params)dlsym(RTLD_NEXT, #name);                                                         \
        int found = fate(#name, matters(fd), (int64_t)size);                                                           \
        if (found < 0)                                                                                                 \
            return -1;                                                                                                 \
        if (found > 0) {                                                                                               \
            if (size > 1)                                                                                              \
                real half;                                                                                             \
            end();                                                                                                     \
        }                                                                                                              \
        return real args;                                                                                              \
    }

BYTES(write, (int fd, const void *data, size_t size), (fd, data, size), (fd, data, size / 2))
BYTES(pwrite, (int fd, const void *data, size_t size, off_t where), (fd, data, size, where),
      (fd, data, size / 2, where))
BYTES(pwrite64, (int fd, const void *data, size_t size, off64_t where), (fd, data, size, where),
      (fd, data, size / 2, where))
BYTES(send, (int fd, const void *data, size_t size, int flags), (fd, data, size, flags),
      (fd, data, size / 2, flags))
BYTES(sendto,
      (int fd, const void *data, size_t size, int flags, const struct sockaddr *to, socklen_t length),
      (fd, data, size, flags, to, length), (fd, data, size / 2, flags, to, length))

WHOLE(ssize_t, writev, matters(fd), parts, (int fd, const struct iovec *data, int parts), (fd, data, parts))
WHOLE(ssize_t, pwritev, matters(fd), parts, (int fd, const struct iovec *data, int parts, off_t where),
      (fd, data, parts, where))
WHOLE(ssize_t, pwritev64, matters(fd), parts, (int fd, const struct iovec *data, int parts, off64_t where),
      (fd, data, parts, where))
WHOLE(ssize_t, sendmsg, matters(fd), 0, (int fd, const struct msghdr *data, int flags), (fd, data, flags))
WHOLE(ssize_t, sendfile, matters(fd), (int64_t)size, (int fd, int from, off_t *where, size_t size),
      (fd, from, where, size))
WHOLE(ssize_t, sendfile64, matters(fd), (int64_t)size, (int fd, int from, off64_t *where, size_t size),
      (fd, from, where, size))
WHOLE(ssize_t, copy_file_range, matters(fd), (int64_t)size,
      (int from, off64_t *in, int fd, off64_t *out, size_t size, unsigned flags), (from, in, fd, out, size, flags))

WHOLE(int, rename, CHANGES | MAKES, 0, (const char *from, const char *to), (from, to))
WHOLE(int, renameat, CHANGES | MAKES, 0, (int one, const char *from, int other, const char *to),
      (one, from, other, to))
WHOLE(int, renameat2, CHANGES | MAKES, 0, (int one, const char *from, int other, const char *to, unsigned flags),
      (one, from, other, to, flags))
WHOLE(int, link, MAKES, 0, (const char *from, const char *to), (from, to))
WHOLE(int, linkat, MAKES, 0, (int one, const char *from, int other, const char *to, int flags),
      (one, from, other, to, flags))
WHOLE(int, symlink, MAKES, 0, (const char *from, const char *to), (from, to))
WHOLE(int, symlinkat, MAKES, 0, (const char *from, int folder, const char *to), (from, folder, to))
WHOLE(int, unlink, CHANGES, 0, (const char *path), (path))
WHOLE(int, unlinkat, CHANGES, 0, (int folder, const char *path, int flags), (folder, path, flags))
WHOLE(int, rmdir, CHANGES, 0, (const char *path), (path))
WHOLE(int, remove, CHANGES, 0, (const char *path), (path))
WHOLE(int, mkdir, MAKES, 0, (const char *path, mode_t bits), (path, bits))
WHOLE(int, mkdirat, MAKES, 0, (int folder, const char *path, mode_t bits), (folder, path, bits))
WHOLE(int, fsync, matters(fd) ? FLUSHES : 0, 0, (int fd), (fd))
WHOLE(int, fdatasync, matters(fd) ? FLUSHES : 0, 0, (int fd), (fd))
WHOLE(int, ftruncate, matters(fd) ? CHANGES : 0, size, (int fd, off_t size), (fd, size))
WHOLE(int, ftruncate64, matters(fd) ? CHANGES : 0, size, (int fd, off64_t size), (fd, size))
WHOLE(int, truncate, CHANGES, size, (const char *path, off_t size), (path, size))
WHOLE(int, fallocate, matters(fd), size, (int fd, int how, off_t where, off_t size), (fd, how, where, size))
WHOLE(int, chmod, CHANGES, 0, (const char *path, mode_t bits), (path, bits))
WHOLE(int, fchmod, CHANGES, 0, (int fd, mode_t bits), (fd, bits))
WHOLE(int, fchmodat, CHANGES, 0, (int folder, const char *path, mode_t bits, int flags),
      (folder, path, bits, flags))
WHOLE(int, utimensat, CHANGES, 0, (int folder, const char *path, const struct timespec times[2], int flags),
      (folder, path, times, flags))
WHOLE(int, futimens, CHANGES, 0, (int fd, const struct timespec times[2]), (fd, times))

/* Opening for writing: a file that is made, cut off, or only written to later. */
#define WRITES(flags) (((flags)&O_ACCMODE) != O_RDONLY || ((flags) & (O_CREAT | O_TRUNC)))
#define OPENS(flags) (WRITES(flags) ? ((flags) & (O_CREAT | O_TMPFILE) & ~O_DIRECTORY ? MAKES : CHANGES) : 0)
#define BITS(flags)                                                                                                    \
    mode_t bits = 0;                                                                                                   \
    if ((flags)&O_CREAT || ((flags)&O_TMPFILE) == O_TMPFILE) {                                                         \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        bits = va_arg(rest, mode_t);                                                                                   \
        va_end(rest);                                                                                                  \
    }

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...) {                                                                       \
        BITS(flags)                                                                                                    \
        REAL(int, name, const char *, int, ...);                                                                       \
        int found = strncmp(path, "/dev/", 5) ? fate("open", OPENS(flags), 0) : 0;                                     \
        if (found < 0)                                                                                                 \
            return -1;                                                                                                 \
        int result = real(path, flags, bits);                                                                          \
        if (found > 0)                                                                                                 \
            end();                                                                                                     \
        return result;                                                                                                 \
    }

#define OPENAT(name)                                                                                                   \
    int name(int folder, const char *path, int flags, ...) {                                                           \
        BITS(flags)                                                                                                    \
        REAL(int, name, int, const char *, int, ...);                                                                  \
        int found = fate("openat", OPENS(flags), 0);                                                                   \
        if (found < 0)                                                                                                 \
            return -1;                                                                                                 \
        int result = real(folder, path, flags, bits);                                                                  \
        if (found > 0)                                                                                                 \
            end();                                                                                                     \
        return result;                                                                                                 \
    }

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

#define STREAM(name)                                                                                                   \
    FILE *name(const char *path, const char *how) {                                                                    \
        REAL(FILE *, name, const char *, const char *);                                                                \
        int found = strpbrk(how, "wa+") ? fate("fopen", MAKES, 0) : 0;                                                 \
        if (found < 0)                                                                                                 \
            return NULL;                                                                                               \
        FILE *result = real(path, how);                                                                                \
        if (found > 0)                                                                                                 \
            end();                                                                                                     \
        return result;                                                                                                 \
    }

STREAM(fopen)
STREAM(fopen64)

#define MAPPING(name, offset)                                                                                          \
    void *name(void *near, size_t size, int allowed, int flags, int fd, offset where) {                                \
        int writes = (flags & MAP_SHARED) && (allowed & PROT_WRITE) && fd > 2;                                         \
        int found = writes ? fate("mmap", matters(fd), (int64_t)size) : 0;                                             \
        if (found < 0)                                                                                                 \
            return MAP_FAILED;                                                                                         \
        void *result = (void *)syscall(SYS_mmap, near, size, allowed, flags, fd, where);                               \
        if (found > 0)                                                                                                 \
            end();                                                                                                     \
        return result;                                                                                                 \
    }

MAPPING(mmap, off_t)
MAPPING(mmap64, off64_t)

/* ---------------------------------------------------------------- the clock */

static int64_t shifted(void) {
    int64_t step = atomic_load(&clock_step);
    return step ? atomic_fetch_add(&clock_shift, step) + step : 0;
}

int clock_gettime(clockid_t which, struct timespec *out) {
    REAL(int, clock_gettime, clockid_t, struct timespec *);
    int result = real(which, out);
    if (which == CLOCK_REALTIME && !result)
        out->tv_sec -= shifted();
    return result;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone) {
    REAL(int, gettimeofday, struct timeval *, void *);
    int result = real(out, zone);
    if (!result)
        out->tv_sec -= shifted();
    return result;
}

time_t time(time_t *out) {
    REAL(time_t, time, time_t *);
    time_t result = real(NULL) - shifted();
    if (out)
        *out = result;
    return result;
}

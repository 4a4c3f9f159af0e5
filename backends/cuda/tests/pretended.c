// A library in the place of the driver, for tests: memory is that of the host, and streams do what they are asked for as late as they may, so
// that whatever is not waited for is not there. Every call that needs a context looks whether this thread has one. Kernels are one: `add_one`
// adds 1 to words of 32 bits. The number of multiprocessors is how often the assembler was asked.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long Address;
enum { OK = 0, INVALID = 1, NO_MEMORY = 2, NO_IMAGE = 200, NO_CONTEXT = 201, NO_PTX = 218, NOT_FOUND = 500, NOT_READY = 600 };
enum { TOTAL = 64 << 20, MOST = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread void *current;
static int context, assembled;
static struct { char *begin; size_t bytes; } blocks[MOST];
static size_t used;

typedef struct { char *to; const char *from; size_t bytes; int byte, adds; } Work;
typedef struct { Work work[MOST]; long asked, done; } Stream;
typedef struct { Stream *stream; long at; } Event;

#define NEEDS_CONTEXT if (current != &context) return NO_CONTEXT
#define ENTER NEEDS_CONTEXT; pthread_mutex_lock(&lock)
#define LEAVE(code) do { int said = (code); pthread_mutex_unlock(&lock); return said; } while (0)

static void until(Stream *stream, long end) {
    for (; stream->done < end; stream->done++) {
        Work *work = &stream->work[stream->done % MOST];
        if (work->adds) for (size_t at = 0; at < work->bytes / 4; at++) ((unsigned *)work->to)[at]++;
        else if (work->from) memcpy(work->to, work->from, work->bytes);
        else memset(work->to, work->byte, work->bytes);
    }
}
static int ask(Stream *stream, Work work) {
    if (stream->asked - stream->done == MOST) until(stream, stream->done + 1);
    stream->work[stream->asked++ % MOST] = work;
    return OK;
}
static int inside(Address place, size_t bytes) {
    for (int at = 0; at < MOST; at++)
        if (blocks[at].begin && place >= (Address)blocks[at].begin && place + bytes <= (Address)blocks[at].begin + blocks[at].bytes) return 1;
    return 0;
}

int cuInit(unsigned flags) { return OK; }
int cuDriverGetVersion(int *version) { *version = 12040; return OK; }
int cuDeviceGetCount(int *count) { *count = 1; return OK; }
int cuDeviceGet(int *device, int number) { *device = number; return number == 0 ? OK : INVALID; }
int cuDeviceGetName(char *name, int most, int device) { strncpy(name, "a pretended GPU", most); return OK; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = TOTAL; return OK; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    *value = attribute == 75 ? 9 : attribute == 76 ? 0 : assembled; // compute capability, multiprocessors
    return OK;
}
int cuDevicePrimaryCtxRetain(void **made, int device) { *made = &context; return OK; }
int cuCtxSetCurrent(void *wanted) { current = wanted; return OK; }
int cuCtxSynchronize(void) { NEEDS_CONTEXT; return OK; }

int cuMemGetInfo_v2(size_t *left, size_t *all) { ENTER; *left = TOTAL - used; *all = TOTAL; LEAVE(OK); }
int cuMemAlloc_v2(Address *place, size_t bytes) {
    ENTER;
    if (bytes > TOTAL - used) LEAVE(NO_MEMORY);
    for (int at = 0; at < MOST; at++)
        if (!blocks[at].begin) {
            blocks[at].begin = memset(malloc(bytes), 0xee, bytes);
            blocks[at].bytes = bytes;
            used += bytes;
            *place = (Address)blocks[at].begin;
            LEAVE(OK);
        }
    LEAVE(NO_MEMORY);
}
int cuMemFree_v2(Address place) {
    ENTER;
    for (int at = 0; at < MOST; at++)
        if (blocks[at].begin == (char *)place) {
            used -= blocks[at].bytes;
            free(blocks[at].begin);
            blocks[at].begin = 0;
            LEAVE(OK);
        }
    LEAVE(INVALID);
}
int cuMemHostAlloc(void **place, size_t bytes, unsigned flags) { NEEDS_CONTEXT; *place = malloc(bytes); return OK; }
int cuMemFreeHost(void *place) { NEEDS_CONTEXT; free(place); return OK; }
int cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes, Stream *stream) {
    ENTER;
    LEAVE(inside(to, bytes) ? ask(stream, (Work){(char *)to, from, bytes, 0, 0}) : INVALID);
}
int cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes, Stream *stream) {
    ENTER;
    LEAVE(inside(from, bytes) ? ask(stream, (Work){to, (char *)from, bytes, 0, 0}) : INVALID);
}
int cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, Stream *stream) {
    ENTER;
    LEAVE(inside(to, bytes) && inside(from, bytes) ? ask(stream, (Work){(char *)to, (char *)from, bytes, 0, 0}) : INVALID);
}
int cuMemsetD8Async(Address to, unsigned char byte, size_t bytes, Stream *stream) {
    ENTER;
    LEAVE(inside(to, bytes) ? ask(stream, (Work){(char *)to, 0, bytes, byte, 0}) : INVALID);
}

int cuStreamCreate(Stream **stream, unsigned flags) { NEEDS_CONTEXT; *stream = calloc(1, sizeof **stream); return OK; }
int cuStreamSynchronize(Stream *stream) { ENTER; until(stream, stream->asked); LEAVE(OK); }
// Events may be there for longer: a stream stays.
int cuStreamDestroy_v2(Stream *stream) { NEEDS_CONTEXT; return OK; }
int cuEventCreate(Event **event, unsigned flags) { NEEDS_CONTEXT; *event = calloc(1, sizeof **event); return OK; }
int cuEventRecord(Event *event, Stream *stream) { ENTER; event->stream = stream; event->at = stream->asked; LEAVE(OK); }
int cuEventQuery(Event *event) { ENTER; LEAVE(event->stream->done >= event->at ? OK : NOT_READY); }
int cuEventSynchronize(Event *event) { ENTER; until(event->stream, event->at); LEAVE(OK); }
int cuEventElapsedTime(float *passed, Event *first, Event *last) {
    ENTER;
    if (first->stream->done < first->at || last->stream->done < last->at) LEAVE(NOT_READY);
    *passed = last->at - first->at;
    LEAVE(OK);
}
int cuEventDestroy_v2(Event *event) { NEEDS_CONTEXT; free(event); return OK; }

typedef struct { char *log, *code; } Linker;
int cuLinkCreate_v2(unsigned count, int *options, void **values, Linker **linker) {
    NEEDS_CONTEXT;
    *linker = calloc(1, sizeof **linker);
    if (count > 0) (*linker)->log = values[0];
    assembled++;
    return OK;
}
int cuLinkAddData_v2(Linker *linker, int kind, char *text, size_t bytes, const char *name, unsigned count, int *options, void **values) {
    NEEDS_CONTEXT;
    if (text[bytes - 1] != 0 || strstr(text, "nonsense")) {
        if (linker->log) strcpy(linker->log, "line 3: nonsense");
        return NO_PTX;
    }
    linker->code = malloc(bytes + 4);
    memcpy(linker->code, "CODE", 4);
    memcpy(linker->code + 4, text, bytes);
    return OK;
}
int cuLinkComplete(Linker *linker, void **code, size_t *bytes) {
    NEEDS_CONTEXT;
    *code = linker->code;
    *bytes = strlen(linker->code) + 1;
    return OK;
}
int cuLinkDestroy(Linker *linker) { NEEDS_CONTEXT; free(linker->code); free(linker); return OK; }
int cuModuleLoadData(char **module, const char *image) {
    NEEDS_CONTEXT;
    if (memcmp(image, "CODE", 4)) return NO_IMAGE;
    *module = strdup(image);
    return OK;
}
int cuModuleGetFunction(const char **function, const char *module, const char *name) {
    NEEDS_CONTEXT;
    *function = strstr(module, name);
    return *function ? OK : NOT_FOUND;
}
int cuModuleUnload(char *module) { NEEDS_CONTEXT; free(module); return OK; }
int cuLaunchKernel(const char *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   Stream *stream, void **arguments, void **extra) {
    ENTER;
    Address place = *(Address *)arguments[0];
    size_t bytes = 4 * *(Address *)arguments[1];
    if (gy * gz * by * bz != 1 || gx == 0 || bx > 1024 || shared || !inside(place, bytes)) LEAVE(INVALID);
    LEAVE(ask(stream, (Work){(char *)place, 0, bytes, 0, 1}));
}

// SPDX-License-Identifier: Apache-2.0
// The C interface between a Verilated model (class Vfb) and Rust. `fb_ports.inc` is generated from
// the model's header: one FB_PORT line a port.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "Vfb.h"
#include "Vfb___024root.h"
#include "verilated.h"
#if FB_TRACE
#include "verilated_fst_c.h"
#endif

#define FB_API extern "C" __attribute__((visibility("default")))

namespace {

struct Fatal : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct fb_memory {
    const char* name;
    uint64_t bytes;
    void* data;
};

struct Shim {
    VerilatedContext context;
    std::unique_ptr<Vfb> model;
#if FB_TRACE
    std::unique_ptr<VerilatedFstC> trace;
#endif
    std::string printed;  // since the last eval that was without fault
    uint32_t stopped = 0;  // an assertion, $error, $fatal, $stop or $finish came
    bool broken = false;   // the model was left in the middle of an evaluation
    std::vector<fb_memory> shared;  // memories whose pages are those of a file
};

// The model whose code runs on this thread.
thread_local Shim* current = nullptr;

// A design that prints without end must not take all memory.
constexpr size_t PRINTED_MAX = 64 * 1024;

void say(const std::string& text) {
    if (current == nullptr) {
        std::fputs(text.c_str(), stderr);
    } else if (current->printed.size() < PRINTED_MAX) {
        current->printed += text;
    }
}

std::string place(const char* file, int line, const char* hier) {
    std::string text = std::string(file ? file : "") + ":" + std::to_string(line);
    if (hier && *hier) text += std::string(" (") + hier + ")";
    return text;
}

}  // namespace

extern "C" void fb_print(const char* format, ...) {
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    say(text);
}

void vl_finish(const char* file, int line, const char* hier) {
    if (current == nullptr) return;
    current->context.gotFinish(true);
    current->stopped = 1;
    say("$finish at " + place(file, line, hier) + "\n");
}

void vl_stop(const char* file, int line, const char* hier) {
    if (current == nullptr) return;
    current->stopped = 1;
    say("stopped at " + place(file, line, hier) + "\n");
}

// Generated code does not expect this to return (a loop that does not settle would go on for ever).
void vl_fatal(const char* file, int line, const char* hier, const char* message) {
    throw Fatal(std::string(message ? message : "fatal") + " at " + place(file, line, hier));
}

struct fb_port {
    const char* name;
    uint32_t width;
    uint32_t bytes;
    uint32_t input;
    void* data;
};

static int guarded(Shim* shim, void (*action)(Shim*)) {
    if (shim->broken) {
        shim->printed = "the model stopped earlier and cannot go on\n";
        return 1;
    }
    current = shim;
    Verilated::threadContextp(&shim->context);
    try {
        action(shim);
    } catch (const std::exception& error) {
        shim->broken = true;
        shim->stopped = 1;
        say(std::string(error.what()) + "\n");
    }
    current = nullptr;
    return shim->stopped != 0;
}

FB_API uint32_t fb_abi() { return FB_ABI; }

FB_API Shim* fb_new(uint32_t random, int32_t seed) {
    std::unique_ptr<Shim> shim(new Shim);
    shim->context.randReset(random ? 2 : 0);
    if (random) shim->context.randSeed(seed);
    // An error is to be reported, not to end the process.
    shim->context.fatalOnError(false);
#if FB_TRACE
    shim->context.traceEverOn(true);
#endif
    guarded(shim.get(), [](Shim* s) { s->model.reset(new Vfb(&s->context, "top")); });
    return shim.release();
}

FB_API void fb_free(Shim* shim) {
    if (shim == nullptr) return;
    current = shim;
    Verilated::threadContextp(&shim->context);
    try {
#if FB_TRACE
        if (shim->trace) shim->trace->close();
        shim->trace.reset();
#endif
        if (shim->model && !shim->broken) shim->model->final();
        // Each memory becomes private again; the allocator may use its pages for anything.
        for (const fb_memory& it : shim->shared) {
            void* placed = mmap(it.data, it.bytes, PROT_READ | PROT_WRITE,
                                MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (placed == MAP_FAILED) shim->model.release();
        }
        shim->model.reset();
    } catch (const std::exception&) {
    }
    delete shim;
    current = nullptr;
}

FB_API uint32_t fb_ports(Shim* shim, fb_port* ports, uint32_t room) {
    if (!shim->model) return 0;
    Vfb& top = *shim->model;
    uint32_t count = 0;
#define FB_PORT(member, text, bits, is_input)                                   \
    if (count < room)                                                           \
        ports[count] = {text, bits, uint32_t(sizeof(top.member)), is_input, &top.member}; \
    ++count;
#include "fb_ports.inc"
#undef FB_PORT
    (void)top;
    return count;
}

FB_API uint32_t fb_memories(Shim* shim, fb_memory* memories, uint32_t room) {
    if (!shim->model) return 0;
    Vfb___024root& root = *shim->model->rootp;
    uint32_t count = 0;
#define FB_MEMORY(member, text, length)                                      \
    static_assert(sizeof(root.member) == length, "the words are not packed"); \
    if (count < room) memories[count] = {text, length, &root.member};        \
    ++count;
#include "fb_memories.inc"
#undef FB_MEMORY
    (void)root;
    return count;
}

// From now on the memory's pages are those of the file at this offset, with the contents it has
// now. Returns 0, or an error number.
FB_API int fb_share(Shim* shim, const fb_memory* memory, int file, uint64_t offset) {
    const char* data = static_cast<const char*>(memory->data);
    for (uint64_t done = 0; done < memory->bytes;) {
        ssize_t count = pwrite(file, data + done, memory->bytes - done, offset + done);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return count < 0 ? errno : EIO;
        done += count;
    }
    // The kernel refuses what is not on pages.
    void* placed = mmap(memory->data, memory->bytes, PROT_READ | PROT_WRITE,
                        MAP_FIXED | MAP_SHARED, file, offset);
    if (placed == MAP_FAILED) return errno;
    shim->shared.push_back(*memory);
    return 0;
}

FB_API int fb_eval(Shim* shim) {
    return guarded(shim, [](Shim* s) { s->model->eval(); });
}

// Signals of which nothing but the rising edge is waited for; FB_CLOCK lines are generated. Those in
// `clocks`, a bit each, are clocks, and stay high; of those in `ticks` Verilator's memory of the last
// value is set to low by hand, so that a rising edge takes one evaluation. Others, such as a reset
// that is asynchronous, are as they are driven.
FB_API const char* fb_clock(uint32_t number) {
    static const char* const names[] = {
#define FB_CLOCK(member, text, last) text,
#include "fb_tick.inc"
#undef FB_CLOCK
        nullptr};
    return number < sizeof names / sizeof *names ? names[number] : nullptr;
}

FB_API int fb_tick(Shim* shim, uint32_t clocks, uint32_t ticks) {
    if (shim->broken) return fb_eval(shim);
    uint32_t bit = 1;
    Vfb& top = *shim->model;
#define FB_CLOCK(member, text, last)              \
    if (clocks & bit) {                           \
        top.member = 1;                           \
        top.rootp->last = (ticks & bit) == 0;     \
    }                                             \
    bit <<= 1;
#include "fb_tick.inc"
#undef FB_CLOCK
    (void)bit;
    (void)top;
    (void)clocks;
    (void)ticks;
    return fb_eval(shim);
}

// What was printed since the last call; valid until the next call on this model.
FB_API const char* fb_take_printed(Shim* shim) {
    static thread_local std::string taken;
    taken.swap(shim->printed);
    shim->printed.clear();
    return taken.c_str();
}

// Whether anything was printed; cheap enough to ask each cycle.
FB_API int fb_has_printed(Shim* shim) { return !shim->printed.empty(); }

// An error that was reported is over: the next eval may succeed.
FB_API void fb_clear(Shim* shim) {
    shim->stopped = 0;
    shim->context.gotFinish(false);
    shim->context.gotError(false);
    shim->context.errorCount(0);
}

FB_API int fb_trace_open(Shim* shim, const char* path) {
#if FB_TRACE
    static thread_local std::string file;
    file = path;
    return guarded(shim, [](Shim* s) {
        if (s->trace) s->trace->close();
        s->trace.reset(new VerilatedFstC);
        s->trace->set_time_unit("1ps");
        s->trace->set_time_resolution("1ps");
        s->model->trace(s->trace.get(), 99);
        s->trace->open(file.c_str());
        if (!s->trace->isOpen()) throw Fatal("cannot open the trace file");
    });
#else
    (void)shim;
    (void)path;
    return -1;
#endif
}

FB_API void fb_trace_dump(Shim* shim, uint64_t picoseconds) {
#if FB_TRACE
    if (shim->trace) shim->trace->dump(picoseconds);
#else
    (void)shim;
    (void)picoseconds;
#endif
}

FB_API void fb_trace_close(Shim* shim) {
#if FB_TRACE
    if (shim->trace) shim->trace->close();
    shim->trace.reset();
#else
    (void)shim;
#endif
}

FB_API void fb_time(Shim* shim, uint64_t picoseconds) { shim->context.time(picoseconds); }

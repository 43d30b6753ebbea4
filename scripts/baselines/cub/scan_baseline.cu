// CUB's scan and CUDA's copies as subjects of `scanbox bench`: a child process that reads requests from stdin and
// writes replies to stdout (protocol.hpp). What can be measured is in subjects.cuh; this file has memory, verification
// and time. README.md tells what is measured and how.

#include "entries.hpp"
#include "kernels.cuh"
#include "kinds.hpp"
#include "operators.hpp"
#include "problem.hpp"
#include "protocol.hpp"
#include "reference.hpp"
#include "rounding.hpp"
#include "sampling.hpp"
#include "subjects.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdlib>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <list>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

// In `cold`, input and output of all slots together are at least this many times the L2 cache.
constexpr u64 cold_caches = 4;
// Graphs that are kept. A bench goes back and forth between few subjects.
constexpr std::size_t graphs_kept = 16;
// Samples behind one gate. More would not fit into the launch queue for sure.
constexpr u64 samples_per_gate = 16;

struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

void check(cudaError_t status, const char* what) {
    if (status != cudaSuccess) {
        // So that it is not told again by the next call; an error that has ruined the context stays.
        cudaGetLastError();
        throw Failure(std::string(what) + ": " + cudaGetErrorName(status) + " (" + cudaGetErrorString(status) + ")");
    }
}

#define CHECK(call) check(call, #call)

// Owners ------------------------------------------------------------------------------------------------------------

// Device memory that grows.
class Memory {
public:
    Memory() = default;
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory() { cudaFree(memory_); }

    std::size_t bytes() const { return bytes_; }
    template <typename T>
    T* as() const {
        return static_cast<T*>(memory_);
    }

    // What was in it is lost.
    void grow(std::size_t bytes, const char* what) {
        if (bytes <= bytes_) {
            return;
        }
        release();
        const std::string doing = "allocating " + std::to_string(bytes) + " bytes for " + what;
        check(cudaMalloc(&memory_, bytes), doing.c_str());
        bytes_ = bytes;
    }

    void release() {
        cudaFree(std::exchange(memory_, nullptr));
        bytes_ = 0;
    }

private:
    void* memory_ = nullptr;
    std::size_t bytes_ = 0;
};

struct DestroyGraph {
    void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
    void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
};
using Graph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, DestroyGraph>;
using GraphExec = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, DestroyGraph>;

// The session -------------------------------------------------------------------------------------------------------

class Session {
public:
    explicit Session(int device) {
        CHECK(cudaSetDevice(device));
        CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        CHECK(cudaHostAlloc(&gate_, sizeof *gate_, cudaHostAllocMapped));
        CHECK(cudaDeviceGetAttribute(&l2_bytes_, cudaDevAttrL2CacheSize, device));
        report_.grow(sizeof(kernels::Report), "the report");
        // Kernels for another architecture are found out now and not in the middle of a bench.
        cudaFuncAttributes attributes;
        check(cudaFuncGetAttributes(&attributes, kernels::wait_at_gate),
            "loading kernels (build.sh --arch sets what they are built for)");
    }

    const std::vector<subjects::Subject>& subjects() const { return subjects_; }

    void load(const problem::Problem& problem, u64 n, u64 seed) {
        if (subjects::entry_of(problem) == nullptr) {
            // CUB's reductions are for operators that commute.
            throw protocol::Unsupported("CUB has no " + problem::title(problem));
        }
        const u64 bytes = n * problem::bytes_of(problem.element);
        if (bytes > capacity_bytes_ || n > capacity_) {
            // All of it first, so that there is room; what fails half-way leaves nothing loaded.
            graphs_.clear();
            capacity_bytes_ = capacity_ = loaded_ = cold_n_ = 0;
            for (Memory* memory : {&input_, &output_, &expected_, &temporary_, &cold_input_, &cold_output_}) {
                memory->release();
            }
            input_.grow(bytes, "the input");
            output_.grow(bytes + kernels::guard_words * 4, "the output");
            expected_.grow(bytes, "the expected elements");
            temporary_.grow(subjects::temporary_bytes(n), "temporary storage");
            capacity_ = n;
            capacity_bytes_ = bytes;
        }
        if (n <= loaded_ && seed == seed_ && problem == problem_) {
            return;
        }
        graphs_.clear();
        loaded_ = 0;
        cold_n_ = 0;
        problem_ = problem;
        seed_ = seed;
        make_init();
        generate(input_, n, words(n), 1, "generating the input");
        upload_scan(n);
        CHECK(cudaStreamSynchronize(stream_));
        loaded_ = n;
    }

    protocol::Comparison verify(const std::string& name, u64 n) {
        const subjects::Subject& subject = find(name, n);
        const Answer answer = answer_of(subject, n);
        const kernels::Outputs output = outputs_at(output_.as<u32>(), n, kernels::guard_words, 0, 1);
        protocol::Comparison comparison;
        comparison.compared = output.n;
        comparison.error_bound = answer.judge.bound;

        // Instantiated before, so that nothing stands between poison and call but the gate.
        graph(subject, n, false, 1);
        // No call may depend on what an earlier one has left.
        CHECK(cudaMemsetAsync(temporary_.as<void>(), 0xA5, temporary_.bytes(), stream_));
        const auto before = [&] { poison(output, answer); };
        comparison.call_ns = samples_of(subject, n, false, 1, 1, before).front();

        clear_report();
        compare(output, answer);
        const kernels::Report report = read_report();
        comparison.mismatches = report.mismatches;
        comparison.max_error = operators::float_of_bits(report.max_error);
        if (report.mismatches > 0) {
            comparison.has_first = true;
            comparison.first_index = report.first;
            if (report.first < output.n) {
                fetch(comparison.first_expected, answer.expected + report.first * output.length, output.length);
                fetch(comparison.first_got, output.words + report.first * output.length, output.length);
            } else {
                comparison.first_expected[0] = kernels::guard_word;
                fetch(comparison.first_got, output.words + output.n * output.length + (report.first - output.n), 1);
            }
        }
        return comparison;
    }

    // The calls of a sample once more, in one graph as `time` has them: the output is poisoned before two calls in a row in the
    // middle, and before the last call of every slot that calls use (one where hot), and compared after each. Nothing else stands
    // between the calls, and nothing between the last ones.
    protocol::Comparison twin(const std::string& name, u64 n, bool cold, u64 calls) {
        const subjects::Subject& subject = find(name, n);
        const Answer answer = answer_of(subject, n);
        if (cold) {
            prepare_cold(n);
        }
        const u64 slots = cold ? std::min(calls, cold_slots(n)) : 1;
        const u64 last = calls - slots;
        const u64 middle = calls / 2;
        const auto in_the_middle = [&](u64 call) {
            return middle >= 1 && middle < last && (call == middle - 1 || call == middle);
        };
        // Behind an output in a slot stands the next one, where there is a guard otherwise.
        const auto output_of = [&](u64 call) {
            u32* words = static_cast<u32*>(this->call(subject, n, cold, call).output);
            return outputs_at(words, n, cold ? 0 : kernels::guard_words, 0, 1);
        };
        const kernels::Outputs outputs
            = cold ? outputs_at(cold_output_.as<u32>(), n, 0, cold_output_stride(n), slots) : output_of(0);
        const auto before = [&](u64 call) {
            if (in_the_middle(call)) {
                poison(output_of(call), answer);
            } else if (call == last) {
                poison(outputs, answer);
            }
        };
        const auto after = [&](u64 call) {
            if (in_the_middle(call)) {
                compare(output_of(call), answer);
            } else if (call == calls - 1) {
                compare(outputs, answer);
            }
        };
        const GraphExec graph = make_graph(subject, n, cold, calls, before, after);
        clear_report();
        CHECK(cudaGraphLaunch(graph.get(), stream_));
        protocol::Comparison comparison;
        const kernels::Report report = read_report();
        comparison.mismatches = report.mismatches;
        comparison.max_error = operators::float_of_bits(report.max_error);
        comparison.error_bound = answer.judge.bound;
        comparison.compared = outputs.n * ((middle >= 1 && middle < last ? 2 : 0) + slots);
        return comparison;
    }

    // Nanoseconds of `samples` samples of `calls` calls each.
    std::vector<double> time(const std::string& name, u64 n, bool cold, u64 calls, u64 samples) {
        const subjects::Subject& subject = find(name, n);
        if (cold) {
            prepare_cold(n);
        }
        return samples_of(subject, n, cold, calls, samples, [&] {
            // Each call in place scans what the one before has left; the first one the input.
            if (is_in_place(subject)) {
                poison(cold ? outputs_at(cold_output_.as<u32>(), n, 0, cold_output_stride(n), cold_slots(n))
                            : outputs_at(output_.as<u32>(), n, kernels::guard_words, 0, 1),
                    answer_of(subject, n));
            }
        });
    }

private:
    // What an output has to be, and how that is seen; what stands there before.
    struct Answer {
        const u32* expected;
        rounding::Judge judge;
        const u32* before;
        u32 flip;
    };

    // `before` is enqueued in front of the gate, each time that samples are.
    template <typename Before>
    std::vector<double> samples_of(
        const subjects::Subject& subject, u64 n, bool cold, u64 calls, u64 samples, Before before) {
        const cudaGraphExec_t graph = this->graph(subject, n, cold, calls);
        reserve_events(2 * std::min(samples, samples_per_gate));
        return sampling::samples(samples, samples_at_once_, [&](u64 count) {
            std::vector<double> times;
            before();
            if (enqueue(graph, cold, count)) {
                for (u64 i = 0; i < count; ++i) {
                    float ms = 0;
                    CHECK(cudaEventElapsedTime(&ms, events_[2 * i], events_[2 * i + 1]));
                    times.push_back(double{ms} * 1e6);
                }
            }
            return times;
        });
    }

    const subjects::Subject& find(const std::string& name, u64 n) const {
        const auto found = std::find_if(
            subjects_.begin(), subjects_.end(), [&](const auto& subject) { return subject.name == name; });
        if (found == subjects_.end()) {
            throw Failure("there is no subject `" + name + "`; the greeting names them all");
        }
        if (n > loaded_) {
            throw Failure(std::to_string(n) + " elements are wanted and " + std::to_string(loaded_)
                + " are loaded; send `load` first");
        }
        if (found->enqueue(problem_) == nullptr) {
            throw protocol::Unsupported("`" + name + "` has no " + problem::title(problem_)
                + (problem_.in_place ? " in place" : ""));
        }
        return *found;
    }

    bool is_in_place(const subjects::Subject& subject) const {
        return problem_.in_place && subject.result == subjects::Result::scan;
    }

    Answer answer_of(const subjects::Subject& subject, u64 n) const {
        if (subject.result == subjects::Result::empty) {
            throw Failure("`" + subject.name + "` has no result to compare");
        }
        const bool copies = subject.result == subjects::Result::copy;
        const u32* expected = (copies ? input_ : expected_).as<u32>();
        if (problem_.mode == problem::Mode::reduce) {
            // The total is the last element of the inclusive scan.
            expected += (n - 1) * length();
        }
        const rounding::Judge judge = rounding::judge_of(problem_, n, copies);
        return is_in_place(subject) ? Answer{expected, judge, input_.as<u32>(), 0}
                                    : Answer{expected, judge, expected, ~0u};
    }

    // Words of an element, and of `n` elements.
    u32 length() const { return problem::bytes_of(problem_.element) / 4; }
    u64 words(u64 n) const { return n * length(); }

    // `count` outputs of a call of `n` elements, `stride` words apart.
    kernels::Outputs outputs_at(u32* words, u64 n, u64 guard, u64 stride, u64 count) const {
        const u64 outputs = problem::outputs_of(problem_, n);
        return {words, outputs, length(), guard, stride == 0 ? this->words(outputs) + guard : stride, count};
    }

    // What an exclusive scan or a reduction begins with.
    void make_init() {
        const u64 bits = problem_.mode == problem::Mode::exclusive
            ? problem_.init
            : problem::identity_bits(problem_.op, problem_.element);
        std::memcpy(init_, &bits, sizeof bits);
        operators::with_structure(problem_.op, [&](auto* structure) {
            const auto identity = std::remove_pointer_t<decltype(structure)>::identity();
            std::memcpy(init_, &identity, sizeof identity);
        });
    }

    void generate(const Memory& memory, u64 n, u64 stride, u64 slots, const char* what) {
        kernels::generate<<<kernels::blocks, kernels::threads, 0, stream_>>>(
            memory.as<u32>(), problem_, seed_, n, stride, slots);
        check(cudaGetLastError(), what);
    }

    void poison(const kernels::Outputs& outputs, const Answer& answer) {
        kernels::prepare<<<kernels::blocks, kernels::threads, 0, stream_>>>(outputs, answer.before, answer.flip);
        check(cudaGetLastError(), "poisoning the output");
    }

    void compare(const kernels::Outputs& outputs, const Answer& answer) {
        kernels::compare<<<kernels::blocks, kernels::threads, 0, stream_>>>(
            outputs, answer.expected, answer.judge, report_.as<kernels::Report>());
        check(cudaGetLastError(), "comparing the output");
    }

    void clear_report() {
        const kernels::Report none{0, ~0ull, 0};
        CHECK(cudaMemcpyAsync(report_.as<void>(), &none, sizeof none, cudaMemcpyHostToDevice, stream_));
        CHECK(cudaStreamSynchronize(stream_));
    }

    kernels::Report read_report() {
        kernels::Report report{0, 0, 0};
        CHECK(cudaMemcpyAsync(&report, report_.as<void>(), sizeof report, cudaMemcpyDeviceToHost, stream_));
        CHECK(cudaStreamSynchronize(stream_));
        return report;
    }

    // The reference, made without CUB and without the GPU.
    void upload_scan(u64 n) {
        constexpr u64 chunk = u64{1} << 22;
        const u64 bytes = problem::bytes_of(problem_.element);
        // Aligned for any element.
        std::vector<std::aligned_storage_t<16, 16>> part((std::min(n, chunk) * bytes + 15) / 16);
        reference::Reference reference(problem_);
        for (u64 start = 0; start < n; start += chunk) {
            const u64 count = std::min(chunk, n - start);
            reference::fill(problem_, seed_, start, part.data(), count);
            reference.scan(part.data(), count);
            CHECK(cudaMemcpy(expected_.as<unsigned char>() + start * bytes, part.data(), count * bytes,
                cudaMemcpyHostToDevice));
        }
    }

    // The words of an element as two halves.
    void fetch(u64 (&halves)[2], const u32* words, u32 length) {
        CHECK(cudaMemcpyAsync(halves, words, length * 4, cudaMemcpyDeviceToHost, stream_));
        CHECK(cudaStreamSynchronize(stream_));
    }

    // Slots of input and output, and what empties the cache before a sample.
    void prepare_cold(u64 n) {
        const u64 slots = cold_slots(n);
        const std::size_t input_bytes = cold_stride(words(n)) * slots * 4;
        const std::size_t output_bytes = cold_output_stride(n) * slots * 4;
        if (input_bytes > cold_input_.bytes() || output_bytes > cold_output_.bytes()) {
            // Graphs hold addresses: they go with the memory.
            graphs_.clear();
            cold_n_ = 0;
            cold_input_.release();
            cold_output_.release();
            cold_input_.grow(input_bytes, "the inputs of a cold cache");
            cold_output_.grow(output_bytes, "the outputs of a cold cache");
        }
        const std::size_t evict_bytes = cold_caches * static_cast<u64>(l2_bytes_);
        if (evict_bytes > evict_.bytes()) {
            evict_.grow(evict_bytes, "emptying the cache");
            CHECK(cudaMemsetAsync(evict_.as<void>(), 0, evict_bytes, stream_));
        }
        if (cold_n_ != n) {
            generate(cold_input_, n, cold_stride(words(n)), slots, "generating the inputs of a cold cache");
            cold_n_ = n;
        }
    }

    // Words from slot to slot: aligned as memory from cudaMalloc is.
    static u64 cold_stride(u64 words) { return (words + 63) / 64 * 64; }

    u64 cold_output_stride(u64 n) const { return cold_stride(words(problem::outputs_of(problem_, n))); }

    u64 cold_slots(u64 n) const {
        const u64 slot_bytes = 4 * (cold_stride(words(n)) + cold_output_stride(n));
        return std::max<u64>(2, (cold_caches * static_cast<u64>(l2_bytes_) + slot_bytes - 1) / slot_bytes);
    }

    cudaGraphExec_t graph(const subjects::Subject& subject, u64 n, bool cold, u64 calls) {
        const Key key{subject.name, n, cold, calls};
        const auto found =
            std::find_if(graphs_.begin(), graphs_.end(), [&](const auto& entry) { return entry.first == key; });
        if (found != graphs_.end()) {
            graphs_.splice(graphs_.begin(), graphs_, found);
        } else {
            const auto nothing = [](u64) {};
            graphs_.emplace_front(key, make_graph(subject, n, cold, calls, nothing, nothing));
            if (graphs_.size() > graphs_kept) {
                graphs_.pop_back();
            }
        }
        return graphs_.front().second.get();
    }

    // One stream is captured, so that each call depends on the one before, and on what stands before and after calls.
    template <typename Before, typename After>
    GraphExec make_graph(
        const subjects::Subject& subject, u64 n, bool cold, u64 calls, Before before, After after) {
        std::set<cudaGraphNode_t> last_nodes;
        const subjects::Enqueue enqueue = subject.enqueue(problem_);
        CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed));
        std::exception_ptr failed;
        try {
            for (u64 i = 0; i < calls; ++i) {
                before(i);
                check(enqueue(call(subject, n, cold, i)), subject.name.c_str());
#if CUDART_VERSION >= 13000
                if (subject.keep_apart) {
                    const auto nodes = captured_last();
                    last_nodes.insert(nodes.begin(), nodes.end());
                }
#endif
                after(i);
            }
        } catch (...) {
            failed = std::current_exception();
        }
        // In any case, or the stream stays unusable.
        cudaGraph_t captured = nullptr;
        const cudaError_t ended = cudaStreamEndCapture(stream_, &captured);
        const Graph graph(captured);
        if (failed) {
            cudaGetLastError();
            std::rethrow_exception(failed);
        }
        check(ended, "cudaStreamEndCapture");
#if CUDART_VERSION >= 13000
        if (subject.keep_apart) {
            keep_apart(graph.get(), last_nodes);
        }
#endif
        cudaGraphExec_t exec = nullptr;
        CHECK(cudaGraphInstantiate(&exec, graph.get(), 0));
        GraphExec owner(exec);
        CHECK(cudaGraphUpload(exec, stream_));
        CHECK(cudaStreamSynchronize(stream_));
        return owner;
    }

    subjects::Call call(const subjects::Subject& subject, u64 n, bool cold, u64 index) const {
        const u64 slot = cold ? index % cold_slots(n) : 0;
        const Memory& input = cold ? cold_input_ : input_;
        const Memory& output = cold ? cold_output_ : output_;
        u32* to = output.as<u32>() + slot * cold_output_stride(n);
        const u32* from = is_in_place(subject) ? to : input.as<u32>() + slot * cold_stride(words(n));
        return {from, to, static_cast<u32>(n), problem::bytes_of(problem_.element), init_, temporary_.as<void>(),
            temporary_.bytes(), stream_};
    }

#if CUDART_VERSION >= 13000
    // The nodes that the next node of the capture would depend on.
    std::vector<cudaGraphNode_t> captured_last() const {
        cudaStreamCaptureStatus status;
        const cudaGraphNode_t* nodes = nullptr;
        const cudaGraphEdgeData* edges = nullptr;
        std::size_t count = 0;
        CHECK(cudaStreamGetCaptureInfo(stream_, &status, nullptr, nullptr, &nodes, &edges, &count));
        return {nodes, nodes + count};
    }

    // Replaces programmatic edges from the last kernel of a call, over which the next call is launched before that
    // kernel has ended, by ordinary ones.
    static void keep_apart(cudaGraph_t graph, const std::set<cudaGraphNode_t>& last_nodes) {
        std::size_t count = 0;
        CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count));
        std::vector<cudaGraphNode_t> from(count);
        std::vector<cudaGraphNode_t> to(count);
        std::vector<cudaGraphEdgeData> data(count);
        CHECK(cudaGraphGetEdges(graph, from.data(), to.data(), data.data(), &count));
        for (std::size_t i = 0; i < count; ++i) {
            if (data[i].type == cudaGraphDependencyTypeProgrammatic && last_nodes.count(from[i]) > 0) {
                CHECK(cudaGraphRemoveDependencies(graph, &from[i], &to[i], &data[i], 1));
                CHECK(cudaGraphAddDependencies(graph, &from[i], &to[i], nullptr, 1));
            }
        }
    }
#endif

    void reserve_events(u64 count) {
        while (events_.size() < count) {
            cudaEvent_t event = nullptr;
            CHECK(cudaEventCreate(&event));
            events_.push_back(event);
        }
    }

    // Enqueues samples behind a closed gate, opens it and waits for them. Without the gate a sample of one short call
    // would contain the time that the host needs to launch it. False if the gate had to open by itself.
    bool enqueue(cudaGraphExec_t graph, bool cold, u64 samples) {
        volatile kernels::Gate* gate = gate_;
        gate->open = 0;
        gate->timed_out = 0;
        kernels::wait_at_gate<<<1, 1, 0, stream_>>>(gate_);
        check(cudaGetLastError(), "closing the gate");
        std::string failed;
        try {
            for (u64 i = 0; i < samples; ++i) {
                if (cold) {
                    kernels::evict<<<kernels::blocks, kernels::threads, 0, stream_>>>(
                        evict_.as<uint4>(), evict_.bytes() / sizeof(uint4), report_.as<u32>());
                    check(cudaGetLastError(), "emptying the cache");
                }
                CHECK(cudaEventRecord(events_[2 * i], stream_));
                CHECK(cudaGraphLaunch(graph, stream_));
                CHECK(cudaEventRecord(events_[2 * i + 1], stream_));
            }
        } catch (const Failure& failure) {
            failed = failure.what();
        }
        gate->open = 1;
        const cudaError_t ended = cudaStreamSynchronize(stream_);
        if (!failed.empty()) {
            throw Failure(failed);
        }
        check(ended, "running the calls");
        return gate->timed_out == 0;
    }

    using Key = std::tuple<std::string, u64, bool, u64>;

    const std::vector<subjects::Subject> subjects_ = subjects::all();
    cudaStream_t stream_ = nullptr;
    int l2_bytes_ = 0;
    kernels::Gate* gate_ = nullptr;
    std::vector<cudaEvent_t> events_;
    u64 samples_at_once_ = samples_per_gate;

    // Elements and bytes of them that there is memory for, and elements that are there.
    u64 capacity_ = 0;
    u64 capacity_bytes_ = 0;
    u64 loaded_ = 0;
    u64 seed_ = 0;
    problem::Problem problem_;
    alignas(16) unsigned char init_[16] = {};
    Memory input_;
    Memory output_;
    Memory expected_;
    Memory temporary_;
    Memory report_;

    // The size of the inputs in the slots.
    u64 cold_n_ = 0;
    Memory cold_input_;
    Memory cold_output_;
    Memory evict_;

    // The most recently used one first. Declared last: graphs go before the memory that they hold addresses of.
    std::list<std::pair<Key, GraphExec>> graphs_;
};

// The process -------------------------------------------------------------------------------------------------------

std::string uuid_of(const cudaDeviceProp& device) {
    std::string text;
    for (int i = 0; i < 16; ++i) {
        const unsigned value = static_cast<unsigned char>(device.uuid.bytes[i]);
        char byte[8];
        std::snprintf(byte, sizeof byte, "%02x", value);
        text += (i == 4 || i == 6 || i == 8 || i == 10) ? std::string("-") + byte : std::string(byte);
    }
    return text;
}

// "CUDA 13.0, driver 580.159.03": the runtime cannot tell the second.
std::string driver_version() {
    int cuda = 0;
    CHECK(cudaDriverGetVersion(&cuda));
    std::string text = "CUDA " + std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10);
    std::ifstream file("/sys/module/nvidia/version");
    std::string driver;
    if (file >> driver) {
        text += ", driver " + driver;
    }
    return text;
}

// A device by its index or UUID.
int find_device(const std::string& wanted) {
    int count = 0;
    CHECK(cudaGetDeviceCount(&count));
    for (int i = 0; i < count; ++i) {
        cudaDeviceProp device;
        CHECK(cudaGetDeviceProperties(&device, i));
        if (wanted == std::to_string(i) || wanted == uuid_of(device)) {
            return i;
        }
    }
    throw Failure("--device " + wanted + ": none of the " + std::to_string(count)
        + " CUDA devices has this index or UUID (in lower case)");
}

std::string word_of(subjects::Result result) {
    switch (result) {
    case subjects::Result::scan:
        return "scan";
    case subjects::Result::copy:
        return "copy";
    case subjects::Result::empty:
        return "empty";
    }
    throw Failure("a result of an unknown kind");
}

// The problems of a subject, as the greeting has them; nothing where they are those of the whole program.
std::string kinds_of(subjects::Of of) {
    static const auto all = [] {
        std::vector<kinds::Had> all;
        for (const subjects::Entry& entry : subjects::entries()) {
            all.push_back({entry.mode, entry.element, entry.op});
        }
        return all;
    }();
    const auto some = [&](auto suits) {
        std::vector<kinds::Had> some;
        std::copy_if(all.begin(), all.end(), std::back_inserter(some), suits);
        return ",\"problems\":" + kinds::text(some);
    };
    switch (of) {
    case subjects::Of::scans:
        return some([](const kinds::Had& had) { return had.mode != problem::Mode::reduce; });
    case subjects::Of::reductions:
        return some([](const kinds::Had& had) { return had.mode == problem::Mode::reduce; });
    case subjects::Of::u32_sums:
        return ",\"problems\":" + kinds::of_default();
    case subjects::Of::all:
        return some([](const kinds::Had&) { return true; });
    }
    return "";
}

std::string greeting(int index, const Session& session) {
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, index));
    std::string subjects;
    for (const subjects::Subject& subject : session.subjects()) {
        subjects += std::string(subjects.empty() ? "" : ",") + "{\"name\":" + protocol::quoted(subject.name)
            + ",\"result\":" + protocol::quoted(word_of(subject.result))
            + (subject.of == subjects::Of::all ? "" : kinds_of(subject.of)) + "}";
    }
    return "{\"protocol\":" + std::to_string(protocol::version) + ",\"tool\":\"CUB\",\"version\":"
        + protocol::quoted(subjects::cub_version()) + ",\"device\":" + protocol::quoted(device.name)
        + ",\"device_uuid\":" + protocol::quoted(uuid_of(device))
        + ",\"driver\":" + protocol::quoted(driver_version()) + ",\"twins\":true" + kinds_of(subjects::Of::all)
        + ",\"subjects\":[" + subjects + "]}";
}

std::string answer(Session& session, const std::string& line) {
    try {
        const protocol::Request request = protocol::parse(line);
        switch (request.what) {
        case protocol::Request::Do::load:
            session.load(request.problem, request.n, request.seed);
            return protocol::loaded();
        case protocol::Request::Do::verify:
            return protocol::verified(session.verify(request.subject, request.n));
        case protocol::Request::Do::twin:
            return protocol::verified(session.twin(request.subject, request.n, request.cold, request.calls));
        case protocol::Request::Do::time:
            return protocol::timed(
                session.time(request.subject, request.n, request.cold, request.calls, request.samples));
        }
        throw Failure("a request of an unknown kind");
    } catch (const protocol::Malformed& malformed) {
        return protocol::error(std::string("malformed request: ") + malformed.what(), line);
    } catch (const protocol::Unsupported& unsupported) {
        return protocol::error(unsupported.what(), line, true);
    } catch (const std::exception& failure) {
        return protocol::error(failure.what(), line);
    }
}

void say(const std::string& line) { std::cout << line << std::endl; }

int run(const std::string& wanted_device) {
    // Kernels that are loaded when they are first needed may wait for the device, which waits at the gate.
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    std::unique_ptr<Session> session;
    try {
        const int device = find_device(wanted_device);
        session = std::make_unique<Session>(device);
        say(greeting(device, *session));
    } catch (const std::exception& failure) {
        say(protocol::error(failure.what(), ""));
        return 1;
    }
    std::string line;
    while (std::getline(std::cin, line)) {
        say(answer(*session, line));
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (arguments == std::vector<std::string>{"--version"}) {
        say(subjects::cub_version());
        return 0;
    }
    if (arguments.empty()) {
        return run("0");
    }
    if (arguments.size() == 2 && arguments[0] == "--device") {
        return run(arguments[1]);
    }
    std::cerr << "usage: scan-baseline-cub [--device INDEX|UUID] | --version\n";
    return 2;
}

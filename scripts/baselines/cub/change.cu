// What it costs to give a recorded CUDA graph other arguments: cudaGraphExecKernelNodeSetParams on the host, per kernel node.
//
//   nvcc -O3 -arch=sm_90 change.cu -o change && ./change
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                   \
    do {                                                                                              \
        cudaError_t error = (call);                                                                   \
        if (error != cudaSuccess) {                                                                   \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));                       \
            std::exit(1);                                                                             \
        }                                                                                             \
    } while (false)

__global__ void copy(const uint4* source, uint4* target, unsigned n) {
    unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n) target[at] = source[at];
}

static double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

template <typename Work> static double nanoseconds(Work work) {
    auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
}

int main() {
    const unsigned vectors = 1u << 12;
    uint4 *source, *targets[2];
    CHECK(cudaMalloc(&source, vectors * sizeof(uint4)));
    for (uint4*& target : targets) CHECK(cudaMalloc(&target, vectors * sizeof(uint4)));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    for (int nodes : {1, 10, 100}) {
        cudaGraph_t graph;
        CHECK(cudaGraphCreate(&graph, 0));
        std::vector<cudaGraphNode_t> node(nodes);
        unsigned n = vectors;
        void* arguments[2][3] = {{&source, &targets[0], &n}, {&source, &targets[1], &n}};
        cudaKernelNodeParams params{};
        params.func = reinterpret_cast<void*>(copy);
        params.gridDim = dim3(vectors / 256);
        params.blockDim = dim3(256);
        for (int at = 0; at < nodes; at++) {
            params.kernelParams = arguments[0];
            CHECK(cudaGraphAddKernelNode(&node[at], graph, at ? &node[at - 1] : nullptr, at ? 1 : 0, &params));
        }
        cudaGraphExec_t executable;
        CHECK(cudaGraphInstantiate(&executable, graph, 0));
        std::vector<double> changes, unchanged, changed;
        for (int round = 0; round < 1000; round++) {
            unchanged.push_back(nanoseconds([&] {
                CHECK(cudaGraphLaunch(executable, stream));
                CHECK(cudaStreamSynchronize(stream));
            }));
            params.kernelParams = arguments[round % 2];
            changes.push_back(nanoseconds([&] {
                for (int at = 0; at < nodes; at++)
                    CHECK(cudaGraphExecKernelNodeSetParams(executable, node[at], &params));
            }));
            changed.push_back(nanoseconds([&] {
                CHECK(cudaGraphLaunch(executable, stream));
                CHECK(cudaStreamSynchronize(stream));
            }));
        }
        std::printf("%3d nodes: SetParams %.0f ns per node; launch to end %.2f us unchanged, %.2f us after a change\n",
                    nodes, median(changes) / nodes, median(unchanged) / 1e3, median(changed) / 1e3);
        CHECK(cudaGraphExecDestroy(executable));
        CHECK(cudaGraphDestroy(graph));
    }
}

// Samples without the host in them: what is behind a gate that had to open by itself is no sample. This part knows nothing of
// a GPU; protocol_test.cpp tests it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace sampling {

// How often in a row a single sample may miss its gate.
constexpr int tries_max = 5;

struct Missed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// `wanted` samples, at most `at_once` of them behind one gate. `take(count)` enqueues so many behind a gate and opens it; it
// returns their times, and nothing if the gate had to open by itself. Then fewer are tried, in later requests too, as it is
// the launch queue that does not take so many; a single one is tried again, and the last time is an error.
template <typename Take>
std::vector<double> samples(std::uint64_t wanted, std::uint64_t& at_once, Take take) {
    std::vector<double> all;
    int missed = 0;
    while (all.size() < wanted) {
        const std::uint64_t count = std::min<std::uint64_t>(wanted - all.size(), at_once);
        const std::vector<double> taken = take(count);
        if (taken.empty()) {
            if (count > 1) {
                at_once = count / 2;
            } else if (++missed == tries_max) {
                throw Missed("a single sample could not be enqueued before its gate opened, "
                    + std::to_string(tries_max) + " times: its time would contain that of the host");
            }
            continue;
        }
        missed = 0;
        all.insert(all.end(), taken.begin(), taken.end());
    }
    return all;
}

}  // namespace sampling

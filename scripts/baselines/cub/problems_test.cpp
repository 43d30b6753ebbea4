// Answers for scanbox's own tests, which know the elements that it makes and the answers to them: reads loads of
// protocol 2, one per line, and prints the words of the first `n` elements of the input, then those of the answer, in
// hexadecimal; the error bound last.
//   g++ -std=c++17 -Wall -Wextra -o build/problems-test problems_test.cpp && build/problems-test <loads

#include "input.hpp"
#include "protocol.hpp"
#include "reference.hpp"
#include "rounding.hpp"

#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

static void print(const char* what, const std::vector<std::uint32_t>& words) {
    std::printf("%s", what);
    for (const std::uint32_t word : words) {
        std::printf(" %x", word);
    }
    std::printf("\n");
}

int main() {
    std::string line;
    while (std::getline(std::cin, line)) {
        try {
            const protocol::Request load = protocol::parse(line);
            const std::uint64_t words = load.n * problem::bytes_of(load.problem.element) / 4;
            // Aligned for 64-bit elements.
            std::vector<std::uint64_t> memory(words / 2 + 1);
            reference::fill(load.problem, load.seed, 0, memory.data(), load.n);
            const auto* at = reinterpret_cast<const std::uint32_t*>(memory.data());
            print("input", {at, at + words});
            reference::Reference reference(load.problem);
            // In two parts: what is carried from one to the other is part of it.
            const std::uint64_t half = load.n / 2;
            reference.scan(memory.data(), half);
            reference.scan(reinterpret_cast<unsigned char*>(memory.data())
                    + half * problem::bytes_of(load.problem.element),
                load.n - half);
            print("answer", {at, at + words});
            std::printf("bound %.9g\n", rounding::error_bound(load.problem, load.n));
        } catch (const std::exception& failure) {
            std::printf("%s\n", failure.what());
        }
    }
    return 0;
}

// Tests of what needs no GPU: the strict reader, the replies, and the inputs.
//   g++ -std=c++17 -Wall -Wextra -o build/protocol-test protocol_test.cpp && build/protocol-test

#include "protocol.hpp"
#include "reference.hpp"
#include "sampling.hpp"

#include <cstdio>
#include <string>
#include <vector>

static int failures = 0;

static void check(bool ok, const std::string& what) {
    if (!ok) {
        std::printf("FAILED: %s\n", what.c_str());
        ++failures;
    }
}

static void refuses(const std::string& line, const std::string& reason) {
    try {
        protocol::parse(line);
        check(false, "accepted: " + line);
    } catch (const protocol::Malformed& malformed) {
        const std::string what = malformed.what();
        check(what.find(reason) != std::string::npos, line + ": said `" + what + "`, not `" + reason + "`");
    }
}

static void accepts() {
    using Do = protocol::Request::Do;
    const auto load = protocol::parse(R"({"do":"load","n":2147483648,"seed":18446744073709551615})");
    check(load.what == Do::load && load.n == protocol::n_max && load.seed == UINT64_MAX, "load");
    const auto verify = protocol::parse(" { \"subject\" : \"cub-scan\" ,\t\"do\":\"verify\", \"n\":1 } \r");
    check(verify.what == Do::verify && verify.n == 1 && verify.subject == "cub-scan", "verify");
    const auto time =
        protocol::parse(R"({"do":"time","subject":"a.b","n":7,"cache":"cold","calls":3,"samples":5})");
    check(time.what == Do::time && time.subject == "a.b" && time.n == 7 && time.cold, "time");
    check(time.calls == 3 && time.samples == 5, "time: calls and samples");
    const auto twin = protocol::parse(R"({"do":"twin","subject":"a","n":7,"cache":"hot","calls":128})");
    check(twin.what == Do::twin && twin.subject == "a" && !twin.cold && twin.calls == 128, "twin");
    check(!protocol::parse(R"({"do":"time","subject":"","n":7,"cache":"hot","calls":1,"samples":1})").cold, "hot");
}

static void refuses_all() {
    struct {
        const char* line;
        const char* reason;
    } const rows[] = {
        {"", "`{` was expected at byte 0"},
        {"null", "`{` was expected"},
        {"[]", "`{` was expected"},
        {"{", "a string was expected"},
        {"{}", "`do` is missing"},
        {"{,}", "a string was expected"},
        {R"({"do":"load","n":1,"seed":1)", "`}` was expected"},
        {R"({"do":"load","n":1,"seed":1,})", "a string was expected"},
        {R"({"do":"load","n":1,"seed":1} x)", "something follows"},
        {R"({"do":"load","n":1,"seed":1}{})", "something follows"},
        {R"({"do":"load" "n":1,"seed":1})", "`}` was expected"},
        {R"({"do" "load"})", "`:` was expected"},
        {R"({"do":load})", "a string or an unsigned integer was expected"},
        {R"({"do":"load})", "a string does not end"},
        {R"({"do":"lo\u0061d","n":1,"seed":1})", "without escapes"},
        {"{\"do\":\"l\xc3\xb6\x61\x64\"}", "printable ASCII"},
        {R"({"do":"load","n":1})", "`seed` is missing"},
        {R"({"do":"load","n":1,"seed":1,"calls":1})", "unknown key `calls`"},
        {R"({"do":"load","n":1,"n":1,"seed":1})", "`n` is there twice"},
        {R"({"do":"load","n":"1","seed":1})", "`n` is not a number"},
        {R"({"do":1,"n":1,"seed":1})", "`do` is not a string"},
        {R"({"do":"load","n":0,"seed":1})", "`n` is 0, not from 1"},
        {R"({"do":"load","n":2147483649,"seed":1})", "`n` is 2147483649"},
        {R"({"do":"load","n":01,"seed":1})", "begins with 0"},
        {R"({"do":"load","n":-1,"seed":1})", "unsigned integer was expected"},
        {R"({"do":"load","n":1.0,"seed":1})", "`}` was expected"},
        {R"({"do":"load","n":1e3,"seed":1})", "`}` was expected"},
        {R"({"do":"load","n":1,"seed":18446744073709551616})", "more than 64 bits"},
        {R"({"do":"load","n":1,"seed":true})", "unsigned integer was expected"},
        {R"({"do":"load","n":{"x":1},"seed":1})", "unsigned integer was expected"},
        {R"({"do":"Load","n":1,"seed":1})", "none of load, verify, time, twin"},
        {R"({"do":"verify","n":1})", "`subject` is missing"},
        {R"({"do":"time","subject":"a","n":1,"cache":"warm","calls":1,"samples":1})", "neither hot nor cold"},
        {R"({"do":"time","subject":"a","n":1,"cache":"hot","calls":0,"samples":1})", "`calls` is 0"},
        {R"({"do":"time","subject":"a","n":1,"cache":"hot","calls":1,"samples":0})", "`samples` is 0"},
        {R"({"do":"time","subject":"a","n":1,"cache":"hot","calls":1})", "`samples` is missing"},
        {R"({"do":"twin","subject":"a","n":1,"cache":"hot","calls":1,"samples":1})", "unknown key `samples`"},
        {R"({"do":"twin","subject":"a","n":1,"cache":"hot"})", "`calls` is missing"},
    };
    for (const auto& row : rows) {
        refuses(row.line, row.reason);
    }
    refuses(std::string("{\"do\":\"load\0\"}", 14), "printable ASCII");
    refuses(std::string(protocol::line_bytes_max + 1, ' '), "more than 4096 bytes");
}

static void replies() {
    protocol::Comparison comparison;
    comparison.compared = 1000;
    comparison.call_ns = 1234.56;
    check(protocol::verified(comparison) == R"({"compared":1000,"mismatches":0,"first":null,"call_ns":1234.6})",
        "verified: " + protocol::verified(comparison));
    comparison.mismatches = 2;
    check(protocol::verified(comparison) == R"({"compared":1000,"mismatches":2,"first":null,"call_ns":1234.6})",
        "verified, where the first is not known: " + protocol::verified(comparison));
    comparison.has_first = true;
    comparison.first_index = 5;
    comparison.first_expected = 7;
    comparison.first_got = 4294967295u;
    check(protocol::verified(comparison)
            == R"({"compared":1000,"mismatches":2,"first":{"index":5,"expected":7,"got":4294967295},"call_ns":1234.6})",
        "verified: " + protocol::verified(comparison));
    check(protocol::timed({1.0, 22.25}) == R"({"samples_ns":[1.0,22.2]})", protocol::timed({1.0, 22.25}));
    check(protocol::error("no \"x\"", "a\x01\xff\\") == R"({"error":"no \"x\"; the request was a\u0001\u00ff\\"})",
        protocol::error("no \"x\"", "a\x01\xff\\"));
    check(protocol::error("x", "") == R"({"error":"x"})", "error without a request");
}

// The expected words come from `random_word` of crates/scanbox-kernels/src/reference.rs.
static void inputs() {
    struct {
        std::uint64_t seed;
        std::uint64_t index;
        std::uint32_t word;
    } const rows[] = {
        {0u, 0u, 0xe220a839u},
        {1u, 0u, 0xe4d97177u},
        {1u, 1u, 0xbeeb8da1u},
        {1u, 1023u, 0x9d61a03au},
        {UINT64_MAX, 2147483648u, 0x9b1b5799u},
        {12345678901234567890u, 536870911u, 0xab22dcc7u},
    };
    for (const auto& row : rows) {
        check(random_word(row.seed, row.index) == row.word, "random word " + std::to_string(row.index));
    }
    // In two parts: the carry is part of it.
    std::vector<std::uint32_t> scan(std::size_t{1} << 20);
    const std::uint32_t carry = scan_of_random_words(1, 0, 0, scan.data(), 1000);
    const std::uint32_t total = scan_of_random_words(1, 1000, carry, scan.data() + 1000, scan.size() - 1000);
    check(total == 0x41b26af0u && scan.back() == total && scan[0] == 0xe4d97177u, "scan");
}

// `fits` samples are enqueued in time; whatever is more misses its gate, and so do the first `unlucky` attempts.
static void samples(std::uint64_t wanted, std::uint64_t fits, int unlucky, bool succeeds, int attempts_expected) {
    std::uint64_t at_once = 16;
    int attempts = 0;
    bool succeeded = true;
    std::vector<double> times;
    try {
        times = sampling::samples(wanted, at_once, [&](std::uint64_t count) {
            const bool missed = count > fits || attempts < unlucky;
            ++attempts;
            return missed ? std::vector<double>{} : std::vector<double>(count, 1.0);
        });
    } catch (const sampling::Missed&) {
        succeeded = false;
    }
    const std::string what = std::to_string(wanted) + " samples where " + std::to_string(fits) + " fit, after "
        + std::to_string(unlucky) + " misses";
    check(succeeded == succeeds && attempts == attempts_expected,
        what + ": " + std::to_string(attempts) + " attempts");
    check(!succeeds || times.size() == wanted, what + ": " + std::to_string(times.size()) + " times");
}

static void gates() {
    samples(5, 16, 0, true, 1);
    samples(40, 16, 0, true, 3);
    // 16, 8, then five times 4.
    samples(20, 4, 0, true, 7);
    // None of them in time: 16, 8, 4, 2, and a single one so often.
    samples(20, 0, 0, false, 4 + sampling::tries_max);
    samples(1, 0, 0, false, sampling::tries_max);
    // A single one that is taken again.
    samples(1, 16, sampling::tries_max - 1, true, sampling::tries_max);
}

int main() {
    gates();
    accepts();
    refuses_all();
    replies();
    inputs();
    std::printf(failures == 0 ? "protocol: ok\n" : "protocol: %d failures\n", failures);
    return failures == 0 ? 0 : 1;
}

// Tests of what needs no GPU: the strict reader, the replies, and which samples are some.
//   g++ -std=c++17 -Wall -Wextra -o build/protocol-test protocol_test.cpp && build/protocol-test

#include "kinds.hpp"
#include "operators.hpp"
#include "problem.hpp"
#include "protocol.hpp"
#include "sampling.hpp"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

static int failures = 0;

static void check(bool ok, const std::string& what) {
    if (!ok) {
        std::printf("FAILED: %s\n", what.c_str());
        ++failures;
    }
}

// A load, of sums of u32 but for what `changes` say: pairs of a key and its value as JSON; without a value the key is
// left out.
static std::string load_of(const std::string& n, const std::string& seed,
    const std::vector<std::pair<std::string, std::string>>& changes) {
    std::vector<std::pair<std::string, std::string>> members{{"do", "\"load\""}, {"n", n}, {"seed", seed},
        {"mode", "\"inclusive\""}, {"element", "\"u32\""}, {"op", "\"add\""}, {"operator_hash", "\"\""},
        {"operator_facts", "\"\""}, {"init_bits", "0"}, {"placement", "\"out-of-place\""},
        {"input", "\"random\""}};
    std::string line;
    for (auto& [key, value] : members) {
        for (const auto& [changed, to] : changes) {
            if (changed == key) {
                value = to;
            }
        }
        if (!value.empty()) {
            line += (line.empty() ? "{\"" : ",\"") + key + "\":" + value;
        }
    }
    return line + "}";
}

using Changes = std::vector<std::pair<std::string, std::string>>;

static std::string quote(const std::string& text) { return "\"" + text + "\""; }

// Problems that loads may name, those that this program has not, and what is none.
static void problems() {
    using problem::Element;
    using problem::Mode;
    using problem::Operator;
    const std::string affine = quote(operators::hash_of(Operator::affine));
    struct {
        Changes changes;
        problem::Problem problem;
    } const had[] = {
        {{}, {}},
        {{{"mode", "\"exclusive\""}, {"element", "\"i64\""}, {"op", "\"max\""}, {"init_bits", "18446744073709551615"}},
            {Mode::exclusive, Element::i64, Operator::max, UINT64_MAX, false, false}},
        {{{"mode", "\"reduce\""}, {"op", "\"xor\""}}, {Mode::reduce, Element::u32, Operator::bit_xor, 0, false, false}},
        {{{"element", "\"f64\""}, {"placement", "\"in-place\""}, {"input", "\"real\""}},
            {Mode::inclusive, Element::f64, Operator::add, 0, true, true}},
        {{{"element", "\"struct8\""}, {"op", "\"affine\""}, {"operator_hash", affine},
             {"operator_facts", "\"ordered+exact\""}},
            {Mode::inclusive, Element::struct8, Operator::affine, 0, false, false}},
    };
    for (const auto& row : had) {
        const std::string line = load_of("1", "1", row.changes);
        try {
            check(protocol::parse(line).problem == row.problem, line);
        } catch (const std::exception& failure) {
            check(false, line + ": " + failure.what());
        }
    }
    struct {
        Changes changes;
        const char* reason;
        bool unsupported;
    } const not_had[] = {
        {{{"mode", "\"backwards\""}}, "`mode` is `backwards`", true},
        {{{"element", "\"u128\""}}, "`element` is `u128`", true},
        {{{"op", "\"gcd\""}}, "`op` is `gcd`", true},
        {{{"placement", "\"elsewhere\""}}, "`placement` is `elsewhere`", true},
        {{{"input", "\"ramp\""}}, "`input` is `ramp`", true},
        {{{"element", "\"f32\""}, {"op", "\"and\""}}, "operator and of type f32", true},
        {{{"element", "\"struct8\""}}, "operator add of type struct8", true},
        {{{"op", "\"affine\""}, {"operator_hash", affine}}, "operator affine of type u32", true},
        {{{"element", "\"struct8\""}, {"op", "\"affine\""}}, "of another file", true},
        {{{"element", "\"struct8\""}, {"op", "\"affine\""}, {"operator_hash", "\"0123456789abcdef\""}},
            "of another file", true},
        {{{"operator_hash", affine}}, "of another file", true},
        {{{"input", "\"real\""}}, "reals for inclusive u32 add", true},
        {{{"mode", "\"reduce\""}, {"placement", "\"in-place\""}}, "a reduction in place", true},
        {{{"init_bits", "1"}}, "`init_bits` is 1 for inclusive u32 add", false},
        {{{"mode", "\"exclusive\""}, {"init_bits", "4294967296"}}, "`init_bits` is 4294967296", false},
        {{{"mode", ""}}, "`mode` is missing", false},
        {{{"operator_facts", ""}}, "`operator_facts` is missing", false},
        {{{"init_bits", "\"0\""}}, "`init_bits` is not a number", false},
        {{{"element", "32"}}, "`element` is not a string", false},
    };
    for (const auto& row : not_had) {
        const std::string line = load_of("1", "1", row.changes);
        std::string said = "accepted";
        bool unsupported = false;
        try {
            protocol::parse(line);
        } catch (const protocol::Unsupported& failure) {
            said = failure.what();
            unsupported = true;
        } catch (const protocol::Malformed& failure) {
            said = failure.what();
        }
        check(said.find(row.reason) != std::string::npos && unsupported == row.unsupported,
            line + ": said `" + said + "`, not `" + row.reason + "`");
    }
    // What a greeting says of two problems and a user's.
    const std::string said = kinds::text({{Mode::inclusive, Element::u32, Operator::add},
        {Mode::reduce, Element::u32, Operator::add}, {Mode::inclusive, Element::f32, Operator::add},
        {Mode::reduce, Element::f32, Operator::add}, {Mode::inclusive, Element::struct8, Operator::affine}});
    const std::string tail = "\"elements\":[\"u32\",\"f32\"],\"ops\":[\"add\"],\"placements\":[\"out-of-place\"";
    check(said.find("[{\"modes\":[\"inclusive\"]," + tail + ",\"in-place\"]},{\"modes\":[\"reduce\"]," + tail + "]},")
            == 0,
        "kinds: " + said);
    check(said.find("\"ops\":[\"affine\"],\"placements\":[\"out-of-place\",\"in-place\"],\"operator_hash\":" + affine)
            != std::string::npos,
        "kinds: " + said);
    check(said.find("\"elements\":[\"f32\"],\"ops\":[\"add\"],\"placements\":[\"out-of-place\",\"in-place\"],"
                    "\"inputs\":[\"real\"]}")
            != std::string::npos,
        "kinds: " + said);
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
    const auto load = protocol::parse(load_of("2147483648", "18446744073709551615", {}));
    check(load.what == Do::load && load.n == protocol::n_max && load.seed == UINT64_MAX, "load");
    check(problem::is_default(load.problem), "load: the problem");
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
        {R"({"do":"load" "n":1,"seed":1})", "`}` was expected"},
        {R"({"do" "load"})", "`:` was expected"},
        {R"({"do":load})", "a string or an unsigned integer was expected"},
        {R"({"do":"load})", "a string does not end"},
        {R"({"do":"lo\u0061d","n":1,"seed":1})", "without escapes"},
        {"{\"do\":\"l\xc3\xb6\x61\x64\"}", "printable ASCII"},
        {R"({"do":"load","n":1})", "`seed` is missing"},
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
    const std::string load = load_of("1", "1", {});
    refuses(load + " x", "something follows");
    refuses(load + "{}", "something follows");
    refuses(load.substr(0, load.size() - 1) + ",\"calls\":1}", "unknown key `calls`");
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
    comparison.first_expected[0] = 7;
    comparison.first_got[0] = 4294967295u;
    comparison.first_got[1] = 1;
    check(protocol::verified(comparison)
            == R"({"compared":1000,"mismatches":2,"first":{"index":5,"expected":7,"got":4294967295,"expected_rest":0,)"
               R"("got_rest":1},"call_ns":1234.6})",
        "verified: " + protocol::verified(comparison));
    comparison.has_first = false;
    comparison.max_error = 0.25;
    comparison.error_bound = 0.5;
    check(protocol::verified(comparison)
            == R"({"compared":1000,"mismatches":2,"first":null,"call_ns":1234.6,"max_error":0.25,"error_bound":0.5})",
        "verified, where results are rounded: " + protocol::verified(comparison));
    check(protocol::error("x", "", true) == R"({"error":"x","status":"unsupported"})", "error: unsupported");
    check(protocol::timed({1.0, 22.25}) == R"({"samples_ns":[1.0,22.2]})", protocol::timed({1.0, 22.25}));
    check(protocol::error("no \"x\"", "a\x01\xff\\") == R"({"error":"no \"x\"; the request was a\u0001\u00ff\\"})",
        protocol::error("no \"x\"", "a\x01\xff\\"));
    check(protocol::error("x", "") == R"({"error":"x"})", "error without a request");
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
    problems();
    std::printf(failures == 0 ? "protocol: ok\n" : "protocol: %d failures\n", failures);
    return failures == 0 ? 0 : 1;
}

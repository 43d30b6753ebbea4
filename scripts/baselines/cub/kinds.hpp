// Kinds of problems, as a greeting says which ones a program has. This part knows nothing of a GPU.
#pragma once

#include "operators.hpp"
#include "problem.hpp"

#include <string>
#include <utility>
#include <vector>

namespace kinds {

using problem::Element;
using problem::Mode;
using problem::Operator;

// One that there is a call of.
struct Had {
    Mode mode;
    Element element;
    Operator op;
};

// A kind: every combination of these is there.
struct Kind {
    std::vector<Mode> modes;
    std::vector<Element> elements;
    std::vector<Operator> ops;
};

template <typename T>
bool has(const std::vector<T>& all, T one) {
    for (const T& other : all) {
        if (other == one) {
            return true;
        }
    }
    return false;
}

template <typename T, std::size_t count>
std::string list(const char* key, const std::vector<T>& values, const char* const (&words)[count]) {
    std::string text;
    for (const T& value : values) {
        text += std::string(text.empty() ? "" : ",") + "\"" + words[static_cast<int>(value)] + "\"";
    }
    return std::string("\"") + key + "\":[" + text + "]";
}

// Problems that differ in one part alone become one kind: first by modes, then by elements, then by operators.
inline std::vector<Kind> merged(const std::vector<Had>& all) {
    std::vector<Kind> kinds;
    const auto join = [&](auto same, auto add) {
        std::vector<Kind> joined;
        for (const Kind& kind : kinds) {
            bool found = false;
            for (Kind& other : joined) {
                if (!found && same(other, kind)) {
                    add(other, kind);
                    found = true;
                }
            }
            if (!found) {
                joined.push_back(kind);
            }
        }
        kinds = joined;
    };
    const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    for (const Had& had : all) {
        kinds.push_back({{had.mode}, {had.element}, {had.op}});
    }
    join([](const Kind& a, const Kind& b) { return a.elements == b.elements && a.ops == b.ops; },
        [&](Kind& a, const Kind& b) { append(a.modes, b.modes); });
    join([](const Kind& a, const Kind& b) { return a.modes == b.modes && a.ops == b.ops; },
        [&](Kind& a, const Kind& b) { append(a.elements, b.elements); });
    // Each file of a user has its own hash.
    join([](const Kind& a, const Kind& b) {
        return a.modes == b.modes && a.elements == b.elements && !problem::is_user(a.ops[0])
            && !problem::is_user(b.ops[0]);
    },
        [&](Kind& a, const Kind& b) { append(a.ops, b.ops); });
    return kinds;
}

// The value of `problems`: scans both out of place and in place; sums of floats on reals, too.
inline std::string text(const std::vector<Had>& all) {
    std::string text;
    const auto add = [&](const Kind& kind, const std::string& more) {
        const bool reduces = has(kind.modes, Mode::reduce);
        const auto placed = [&](const std::vector<Mode>& modes, const char* placements) {
            text += std::string(text.empty() ? "" : ",") + "{" + list("modes", modes, problem::mode_words) + ","
                + list("elements", kind.elements, problem::element_words) + ","
                + list("ops", kind.ops, problem::operator_words) + ",\"placements\":[" + placements + "]" + more + "}";
        };
        std::vector<Mode> scans;
        for (const Mode mode : kind.modes) {
            if (mode != Mode::reduce) {
                scans.push_back(mode);
            }
        }
        if (!scans.empty()) {
            placed(scans, "\"out-of-place\",\"in-place\"");
        }
        if (reduces) {
            placed({Mode::reduce}, "\"out-of-place\"");
        }
    };
    for (const Kind& kind : merged(all)) {
        const bool user = problem::is_user(kind.ops[0]);
        add(kind, user ? std::string(",\"operator_hash\":\"") + operators::hash_of(kind.ops[0]) + "\"" : "");
    }
    std::vector<Had> real;
    for (const Had& had : all) {
        if (problem::is_float(had.element) && had.op == Operator::add) {
            real.push_back(had);
        }
    }
    for (const Kind& kind : merged(real)) {
        add(kind, ",\"inputs\":[\"real\"]");
    }
    return "[" + text + "]";
}

// That of what has inclusive sums of u32, out of place, alone.
inline std::string of_default() {
    return "[{\"modes\":[\"inclusive\"],\"elements\":[\"u32\"],\"ops\":[\"add\"],\"placements\":[\"out-of-place\"]}]";
}

}  // namespace kinds

#!/usr/bin/env python3
"""Verifies every problem that a baseline says it has: each subject at some sizes, and its twin, hot and cold.

    try_problems.py PROGRAM [N ...]

A line per problem: its subjects, and the time of a call at the largest size in microseconds. Fails if a reply is an
error or a result is wrong. Needs a GPU; any program that speaks version 2 of docs/baselines.md will do.
"""

import itertools
import json
import subprocess
import sys

SIZES = [1, 777, 1 << 20, (1 << 22) + 5]
# What exclusive scans begin with beside the identity, as bits: 5, and 5 as a float.
INITS = {"f32": 0x40A00000, "f64": 0x4014000000000000}
# Operators beside which copies are tried: they are the same for all problems of a type.
OF_COPIES = ["add", "affine", "matrix2x2"]
WIDTH = {"u32": 32, "i32": 32, "f32": 32, "u64": 64, "i64": 64, "f64": 64}


def identity(op, element):
    """The bits of the identity of one of scanbox's own operators."""
    width = WIDTH[element]
    ones, top = (1 << width) - 1, 1 << (width - 1)
    infinity = {"f32": 0x7F800000, "f64": 0x7FF0000000000000}.get(element)
    if op == "mul":
        return {"f32": 0x3F800000, "f64": 0x3FF0000000000000}.get(element, 1)
    if op == "and":
        return ones
    if op == "min":
        return infinity or (ones ^ top if element[0] == "i" else ones)
    if op == "max":
        return infinity | top if infinity else (top if element[0] == "i" else 0)
    return 0


def problems(kinds):
    """The problems of a greeting, as `load` names them."""
    for kind in kinds:
        placements, inputs = kind.get("placements", ["out-of-place"]), kind.get("inputs", ["random"])
        words = (kind["modes"], kind["elements"], kind["ops"], placements, inputs)
        for mode, element, op, placement, made in itertools.product(*words):
            inits = [0]
            if mode == "exclusive" and element in WIDTH:
                inits = [identity(op, element), INITS.get(element, 5)]
            for init in inits:
                yield {
                    "mode": mode, "element": element, "op": op, "operator_hash": kind.get("operator_hash", ""),
                    "operator_facts": "", "init_bits": init, "placement": placement, "input": made,
                }


def has(kinds, problem):
    """Whether a problem is one of these kinds."""
    return any(
        problem["mode"] in kind["modes"] and problem["element"] in kind["elements"] and problem["op"] in kind["ops"]
        and problem["placement"] in kind.get("placements", ["out-of-place"])
        and problem["input"] in kind.get("inputs", ["random"])
        and problem["operator_hash"] == kind.get("operator_hash", "")
        for kind in kinds
    )


def main(path, sizes):
    program = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(request):
        program.stdin.write(json.dumps(request, separators=(",", ":")) + "\n")
        program.stdin.flush()
        return json.loads(program.stdout.readline())

    greeting = json.loads(program.stdout.readline())
    if "error" in greeting:
        sys.exit(greeting["error"])
    print(greeting["tool"], greeting["version"], "on", greeting["device"])
    failures, right = [], 0
    for problem in problems(greeting["problems"]):
        title = " ".join(str(word) for word in problem.values() if word != "")
        loaded = ask({"do": "load", "n": max(sizes), "seed": 1, **problem})
        if "error" in loaded:
            failures.append(f"{title}: {loaded['error']}")
            continue
        times = []
        of_output = 1 if problem["mode"] == "reduce" else None
        for subject in greeting["subjects"]:
            name = subject["name"]
            copies = subject["result"] == "copy" and (problem["mode"] != "inclusive" or problem["op"] not in OF_COPIES)
            kinds = subject.get("problems", greeting["problems"])
            if subject["result"] == "empty" or copies or not has(kinds, problem):
                continue
            for n in sizes:
                at = {"subject": name, "n": n}
                asked = [{"do": "verify", **at}]
                asked += [{"do": "twin", **at, "cache": cache, "calls": 20} for cache in ("hot", "cold")]
                for request in asked:
                    found = ask(request)
                    if "error" in found or found["mismatches"] or found["compared"] < (of_output or n):
                        failures.append(f"{title}: {request}: {found}")
                    else:
                        right += 1
            timed = ask({"do": "time", **at, "cache": "hot", "calls": 20, "samples": 5})
            if subject["result"] == "scan":
                ns = sorted(timed.get("samples_ns", [0]))
                times.append(f"{name} {ns[len(ns) // 2] / 20e3:.2f}")
        print(f"{title}: {', '.join(times)}")
    print(f"{right} right, {len(failures)} failed")
    for failure in failures[:20]:
        print("FAILED", failure[:400])
    program.stdin.close()
    sys.exit(1 if failures or program.wait() else 0)


if __name__ == "__main__":
    if sys.argv[1:2] in (["-h"], ["--help"]):
        sys.exit(print(__doc__))
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], sorted(int(n) for n in sys.argv[2:]) or SIZES)

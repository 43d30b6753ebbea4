#!/usr/bin/env python3
"""Densities, trends, transfers and portability once more, by other means: plain Python, no shared code.

usage: devices.py FILE.csv...

Reads rows only (no metadata: the space is what the rows show), takes `steady` times, and prints one JSON document. Per
device: the histogram of each size (A19), the best line with each parameter pinned (A21). Across devices: the efficiency of
every device's ideal configuration set on every device (A11), PP and mean of every kernel (A23). Files whose fastest config
of a size is shared by two have no single answer: use files without ties.
"""

import csv
import json
import math
import sys
from collections import defaultdict
from fractions import Fraction
from statistics import fmean, harmonic_mean, geometric_mean

# Columns that are parameters and tell what the config says: `tile_state` and `reset` tell what ran.
PARAMETERS = ["family", "batch_size", "vector_width", "lookback", "block_scan", "subgroup_scan", "load_layout", "tile_order", "publish",
              "rendezvous", "lookback_width", "max_spins", "back_off", "state_stride", "workgroup_size", "workgroups_per_unit"]


def histogram(values):
    low, high = min(values), max(values)
    distinct = sorted(set(values))
    best = (math.inf, 1)
    if len(distinct) > 1:
        gap = min(b - a for a, b in zip(distinct, distinct[1:]))
        for bins in range(2, min(math.floor((high - low) / (2 * gap)), len(values) // 5) + 1):
            counts = count(values, bins)
            mean = sum(counts) / bins
            variance = sum((c - mean) ** 2 for c in counts) / bins
            best = min(best, ((2 * mean - variance) / ((high - low) / bins) ** 2, bins))
    return count(values, best[1])


def count(values, bins):
    low, high = min(values), max(values)
    counts = [0] * bins
    for value in values:
        # Exactly, so that a value on a border is in the upper bin whatever rounding makes of it.
        place = Fraction(value - low) * bins / Fraction(high - low) if high > low else 0
        counts[min(math.floor(place + Fraction(1, 10**9)), bins - 1)] += 1
    return counts


def percentile(values, part):
    """Inclusive, with linear interpolation."""
    values = sorted(values)
    below = math.floor(part * (len(values) - 1))
    above = min(below + 1, len(values) - 1)
    return values[below] + (part * (len(values) - 1) - below) * (values[above] - values[below])


class Device:
    def __init__(self, rows):
        self.at = defaultdict(dict)
        self.space = defaultdict(set)
        self.cells = {}
        sweep, confirmed = defaultdict(dict), defaultdict(dict)
        for row in rows:
            n = int(row["n_elements"])
            self.space[n].add(row["kernel_id"])
            self.cells.setdefault(row["config_id"], row | {"bytes_moved_at": {}})["bytes_moved_at"][n] = row["bytes_moved"]
            if row["status"] == "ok":
                sweep[n][row["config_id"]] = int(row["steady_ns_median"])
                if row.get("confirmed_ns"):
                    confirmed[n][row["config_id"]] = int(row["confirmed_ns"])
        # One time per row: by the confirmation, or that of the sweep times what the confirmation found of the fastest rows.
        self.sweep, self.confirmed = sweep, defaultdict(dict)
        for n, times in sweep.items():
            first = min((ns for config, ns in times.items() if config not in confirmed[n]), default=math.inf)
            ratios = sorted(Fraction(ns, times[c]) for c, ns in confirmed[n].items() if times[c] <= first)
            scale = ratios[(len(ratios) - 1) // 2] if ratios else 1
            if ratios:
                self.confirmed[n] = confirmed[n]
            for config, ns in times.items():
                time = self.confirmed[n].get(config, ns * scale)
                self.at[n][config] = float(int(self.cells[config]["bytes_moved_at"][n]) / Fraction(time))
        self.sizes = sorted(self.at)
        self.kernels = set().union(*self.space.values())
        self.complete = {n for n, kernels in self.space.items() if kernels == self.kernels}

    def top(self, n):
        return max(self.at[n].values())

    def ideal(self, n):
        # Of equally fast ones the confirmed one, then the fastest of the sweep.
        return min(
            self.at[n],
            key=lambda config: (-self.at[n][config], config not in self.confirmed[n], self.sweep[n][config]),
        )

    def density(self, n):
        values = list(self.at[n].values())
        return {
            "n": n,
            "counts": histogram(values),
            "median": percentile(values, 0.5),
            "p90": percentile(values, 0.9),
            "near": sum(value >= 0.95 * max(values) for value in values) / len(values),
        }

    def trend(self, parameter):
        value = lambda config: self.cells[config].get(parameter) or ""
        values = {value(config) for n in self.sizes for config in self.at[n]}
        if len(values) < 2:
            return None
        pinned = {}
        for wanted in values:
            pinned[wanted] = {}
            for n in self.sizes:
                line = [gbps for config, gbps in self.at[n].items() if value(config) == wanted]
                if line:
                    pinned[wanted][str(n)] = 100 * (1 - max(line) / self.top(n))
        return {"ideal": [[n, value(self.ideal(n))] for n in self.sizes], "pinned": pinned}

    def line(self, kernel, n):
        return max((gbps for config, gbps in self.at[n].items() if self.cells[config]["kernel_id"] == kernel), default=0)


def transfer(source, target):
    both = [n for n in source.sizes if n in target.at]
    there = {n: target.at[n][source.ideal(n)] / target.top(n) for n in both if source.ideal(n) in target.at[n]}
    means = [min(there.values()), geometric_mean(there.values()), harmonic_mean(there.values())] if there else None
    return {"means": means, "missing": [n for n in both if n not in there]}


def portability(devices):
    sizes = set.intersection(*(device.complete & set(device.sizes) for device in devices))
    answer = {}
    for kernel in set().union(*(device.kernels for device in devices)) if sizes else ():
        by_device = [harmonic_mean([device.line(kernel, n) / device.top(n) for n in sizes]) for device in devices]
        everywhere = [device.line(kernel, n) / device.top(n) for device in devices for n in sizes]
        answer[kernel] = [harmonic_mean(everywhere), fmean(by_device)]
    return answer


def main(paths):
    rows = defaultdict(list)
    for path in paths:
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                rows[row["device"]].append(row)
    devices = [Device(rows[name]) for name in sorted(rows)]
    json.dump(
        {
            "devices": [
                {
                    "densities": [device.density(n) for n in device.sizes],
                    "trends": {name: trend for name in PARAMETERS if (trend := device.trend(name))},
                }
                for device in devices
            ],
            "transfers": [transfer(source, target) for source in devices for target in devices],
            "portability": portability(devices),
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main(sys.argv[1:])

#!/usr/bin/env python3
"""The answers of `scanbox analyze` once more, by other means: plain Python, exact fractions, no shared code.

usage: analyze.py FILE.csv...

Reads rows only (no metadata: the space is what the rows show, no device is software) and prints one JSON document:
per device the ideal configuration set (A1), the comparison (A3) and every kernel's score by each metric (A4 to A9);
across devices the portable kernel (A18, squared, size-best). A ranking is a list of [kernel, score], best first.
"""

import csv
import json
import math
import sys
from collections import defaultdict
from fractions import Fraction

VECTOR = {"scalar": 0, "vec2": 1, "vec4": 2}
LOOKBACK = {"seq": 0, "par": 1}
BLOCK = {"rake": 0, "blelloch": 1}
OPTIONAL = {"direct": (0, 1), "word64": (1, 1), "packed": (1, 2), "fill": (2, 1), "epoch": (2, 2)}
METRICS = ["sum", "absolute", "squared", "chebyshev", "cosine", "power:1.25"]


def order(label):
    """The place of a config or kernel in the fixed order of the parameters."""
    batch, vector, lookback, block, *rest = label.split(".")
    optional, launch = [0, 0, 0], [0, 0]
    for tag in rest:
        if tag in OPTIONAL:
            place, value = OPTIONAL[tag]
            optional[place] = value
        elif tag.startswith("wg"):
            launch[0] = int(tag[2:])
        else:
            launch[1] = int(tag[1:])
    return (int(batch[1:]), VECTOR[vector], LOOKBACK[lookback], BLOCK[block], *optional, *launch)


class Row:
    def __init__(self, cells):
        self.n = int(cells["n_elements"])
        self.config = cells["config_id"]
        self.kernel = cells["kernel_id"]
        self.order = order(self.config)
        median, q1, q3 = (int(cells["steady_ns_" + name]) for name in ("median", "q1", "q3"))
        self.x = Fraction(int(cells["bytes_moved"]), median)
        self.spread = Fraction(max(q3 - q1, 0), median)
        half = 1.57 * max(q3 - q1, 0) / math.sqrt(max(int(cells["samples"]), 1))
        self.interval = (median - half, median + half)
        self.age = (cells["timestamp_utc"], int(cells["order_index"]), median)


class Device:
    def __init__(self, identity, rows):
        self.name, self.uuid = identity
        shown, points = set(), {}
        for cells in rows:
            shown.add((int(cells["n_elements"]), cells["kernel_id"]))
            if cells["status"] == "ok" and cells["steady_ns_median"] not in ("", "0"):
                row = Row(cells)
                old = points.get((row.n, row.config))
                if old is None or old.age < row.age:
                    points[row.n, row.config] = row
        self.at = defaultdict(list)
        for row in points.values():
            self.at[row.n].append(row)
        self.sizes = sorted(self.at)
        self.line = {}
        for row in points.values():
            key = (row.kernel, row.n)
            if key not in self.line or self.better(row, self.line[key]):
                self.line[key] = row
        self.kernels = {kernel for _, kernel in shown}
        self.complete = {n for n, _ in shown if all((n, kernel) in shown for kernel in self.kernels)}
        self.find_ideal()

    @staticmethod
    def better(a, b):
        return (-a.x, a.spread, a.order) < (-b.x, b.spread, b.order)

    def find_ideal(self):
        sure = defaultdict(int)
        for n in self.sizes:
            best = min((-row.x, row.spread) for row in self.at[n])
            kernels = {row.kernel for row in self.at[n] if (-row.x, row.spread) == best}
            if len(kernels) == 1:
                sure[kernels.pop()] += 1
        self.ideal, self.uses = {}, defaultdict(int)
        for n in self.sizes:
            ranked = sorted(self.at[n], key=lambda row: (-row.x, row.spread, -sure[row.kernel], row.order))
            self.ideal[n] = ranked
            self.uses[ranked[0].kernel] += 1

    def ties(self, n):
        low, high = self.ideal[n][0].interval
        return sum(row.interval[0] <= high and low <= row.interval[1] for row in self.ideal[n][1:])

    def best(self, n):
        return self.ideal[n][0].x


def comparison(devices):
    sizes = set.intersection(*(device.complete for device in devices))
    sizes = sorted(n for n in sizes if all(n in device.ideal for device in devices))
    kernels = set().union(*(device.kernels for device in devices)) if sizes else set()
    whole = [k for k in kernels if all((k, n) in device.line for device in devices for n in sizes)]
    return sizes, sorted(whole, key=order), sorted(kernels - set(whole), key=order)


def score(metric, ideal, line):
    gaps = [i - l for i, l in zip(ideal, line)]
    if metric == "sum":
        return sum(line)
    if metric == "absolute":
        return sum(gaps)
    if metric == "squared":
        return sum(gap * gap for gap in gaps)
    if metric == "chebyshev":
        return max(gaps)
    if metric == "cosine":
        dot = sum(i * l for i, l in zip(ideal, line))
        square = sum(i * i for i in ideal) * sum(l * l for l in line)
        # Exact up to the root: 1 - sqrt(1 - r) without the cancellation.
        rest = float(1 - dot * dot / square)
        return rest / (1 + math.sqrt(max(1 - rest, 0)))
    return sum(float(gap) ** float(metric.split(":")[1]) for gap in gaps)


def ranking(devices, metric, normalize):
    sizes, kernels, _ = comparison(devices)
    if not sizes or not kernels:
        return None
    places = [(device, n) for device in devices for n in sizes]
    unit = [device.best(n) if normalize == "size-best" else 1 for device, n in places]
    ideal = [device.best(n) / u for (device, n), u in zip(places, unit)]
    ranked = []
    for kernel in kernels:
        rows = [device.line[kernel, n] for device, n in places]
        line = [row.x / u for row, u in zip(rows, unit)]
        value = score(metric, ideal, line)
        key = -value if metric == "sum" else value
        # Roots and powers are not exact.
        key = round(key, 12) if isinstance(key, float) else key
        spread = sum(row.spread for row in rows) / len(rows)
        uses = sum(device.uses[kernel] for device in devices)
        ranked.append(((key, -sum(line), spread, -uses, order(kernel)), kernel, float(value)))
    return [[kernel, value] for _, kernel, value in sorted(ranked)]


def main(paths):
    rows = defaultdict(list)
    for path in paths:
        with open(path, newline="") as file:
            for cells in csv.DictReader(file):
                if cells["subject"] == "scanbox":
                    rows[cells["device"], cells["device_uuid"]].append(cells)
    devices = []
    for identity in sorted(rows):
        runs = defaultdict(list)
        for cells in rows[identity]:
            runs[cells["driver"], cells["subject_version"].split("+")[0], cells["kernel_hash"]].append(cells)
        latest = max(runs, key=lambda run: (max(cells["timestamp_utc"] for cells in runs[run]), run))
        devices.append(Device(identity, runs[latest]))
    document = {"devices": [], "portable": None}
    for device in devices:
        sizes, kernels, dropped = comparison([device])
        ideal = [
            {
                "n": n,
                "config": device.ideal[n][0].config,
                "gbps": float(device.best(n)),
                "runner_up": device.ideal[n][1].config if len(device.ideal[n]) > 1 else None,
                "ties": device.ties(n),
            }
            for n in device.sizes
        ]
        metrics = {metric: ranking([device], metric, "none") for metric in METRICS}
        document["devices"].append(
            {"ideal": ideal, "sizes": sizes, "kernels": kernels, "dropped": dropped, "metrics": metrics}
        )
    if len(devices) > 1:
        document["portable"] = ranking(devices, "squared", "size-best")
    json.dump(document, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])

#!/usr/bin/env python3
"""The answers of `scanbox analyze` once more, by other means: plain Python, exact fractions, no shared code.

usage: analysis.py FILE.csv...       prints the answers about these files as one JSON document
       analysis.py --write FOLDER    makes the generated files, and writes the stored answers of all cases into FOLDER
       analysis.py --check FOLDER    fails where FOLDER does not hold what --write would write

Reads rows (the space is what the rows show, no device is software) and from metadata beside a file only the measured
copies. Per device: the ideal configuration set (A1), coverage (A3), every kernel's score by each metric and
normalisation (A4 to A9), with weights, portfolios (A24), bandwidth (A20) and baselines (A22); across devices shared
configs (A12 to A17) and portable kernels (A18) by each metric and normalisation, and portfolios. A ranking is a list
of [kernel, score], best first.
"""

import csv
import io
import itertools
import json
import math
import os
import random
import sys
from collections import defaultdict
from fractions import Fraction

VECTOR = {"scalar": 0, "vec2": 1, "vec4": 2}
LOOKBACK = {"seq": 0, "par": 1}
BLOCK = {"rake": 0, "blelloch": 1}
OPTIONAL = {"direct": (0, 1), "word64": (1, 1), "packed": (1, 2), "fill": (2, 1), "epoch": (2, 2)}
METRICS = ["sum", "absolute", "squared", "chebyshev", "cosine", "power:1.25"]
SHARED = ["mean", "max", "mean-std", "min", "rank-sum", "rank-product", "distance", "squared", "power:1.25"]
NORMALIZATIONS = ["size-best", "device-peak", "minmax", "ceiling", "none"]
COVERAGES = ["auto", "common", "all", "widest", "0.5"]


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
    def __init__(self, identity, rows, copies, baselines):
        self.name, self.uuid = identity
        self.baselines = baselines
        self.shown, points = set(), {}
        for cells in rows:
            self.shown.add((int(cells["n_elements"]), cells["kernel_id"]))
            if cells["status"] == "ok" and cells["steady_ns_median"] not in ("", "0"):
                row = Row(cells)
                old = points.get((row.n, row.config))
                if old is None or old.age < row.age:
                    points[row.n, row.config] = row
        self.at = defaultdict(list)
        for row in points.values():
            self.at[row.n].append(row)
        self.row = points
        self.sizes = sorted(self.at)
        # The copy of a smaller size is no bandwidth.
        reaches = copies and (not self.sizes or max(copies) >= max(self.sizes))
        self.bandwidth = copies[max(copies)] if reaches else None
        self.line = {}
        for row in points.values():
            key = (row.kernel, row.n)
            if key not in self.line or self.better(row, self.line[key]):
                self.line[key] = row
        self.kernels = {kernel for _, kernel in self.shown}
        self.find_ideal()

    def sizes_of_share(self, share):
        count = defaultdict(int)
        for n, _ in self.shown:
            count[n] += 1
        return {n for n in count if count[n] >= share * len(self.kernels)}

    def unit(self, n, normalize):
        """What is subtracted from a throughput at n, and what the rest is divided by."""
        best = self.best(n)
        if normalize == "size-best":
            return 0, best
        if normalize == "device-peak":
            return 0, max(self.best(n) for n in self.sizes)
        if normalize == "minmax":
            least = min(row.x for row in self.at[n])
            return least, best - least
        if normalize == "ceiling":
            return 0, Fraction(self.bandwidth)
        return 0, 1

    def scaled(self, x, n, normalize):
        zero, unit = self.unit(n, normalize)
        return (x - zero) / unit if unit else Fraction(1)

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


def comparison(devices, coverage="auto"):
    """The sizes of a comparison, the kernels that take part, and the others."""
    measured = set.intersection(*(set(device.sizes) for device in devices))
    share = lambda least: set.intersection(*(device.sizes_of_share(least) for device in devices))
    every = set().union(*(device.kernels for device in devices))
    covers = {
        k: tuple(sorted(n for n in measured if all((k, n) in device.line for device in devices)))
        for k in devices[0].kernels
    }
    if coverage == "auto":
        common = share(1) & measured
        coverage = "common" if common and 2 * len(common) >= len(measured) else "widest"
    if coverage == "common":
        sizes = share(1)
    elif coverage == "all":
        sizes = measured
    elif coverage == "widest":
        longest = max(map(len, covers.values()), default=0)
        sets = {sizes for sizes in covers.values() if len(sizes) > 0.9 * longest}
        covering = lambda sizes: sum(set(sizes) <= set(other) for other in covers.values())
        sizes = max(sets, key=lambda sizes: (len(sizes) * covering(sizes), len(sizes), sizes[::-1]), default=())
    else:
        sizes = share(float(coverage))
    sizes = sorted(set(sizes) & measured)
    kernels = every if sizes else set()
    whole = [k for k in kernels if all((k, n) in device.line for device in devices for n in sizes)]
    return sizes, sorted(whole, key=order), sorted(kernels - set(whole), key=order)


def score(metric, ideal, line, weights):
    gaps = [i - l for i, l in zip(ideal, line)]
    if metric == "sum":
        return sum(w * l for w, l in zip(weights, line))
    if metric == "absolute":
        return sum(w * gap for w, gap in zip(weights, gaps))
    if metric == "squared":
        return sum(w * gap * gap for w, gap in zip(weights, gaps))
    if metric == "chebyshev":
        return max(w * gap for w, gap in zip(weights, gaps))
    if metric == "cosine":
        dot = lambda a, b: sum(w * x * y for w, x, y in zip(weights, a, b))
        square = dot(ideal, ideal) * dot(line, line)
        if square == 0:
            return 1.0
        # Exact up to the root: 1 - sqrt(1 - r) without the cancellation.
        rest = float(1 - dot(ideal, line) ** 2 / square)
        return rest / (1 + math.sqrt(max(1 - rest, 0)))
    power = float(metric.split(":")[1])
    return sum(float(w) * float(gap) ** power for w, gap in zip(weights, gaps))


def places_of(devices, sizes, normalize, weigh):
    """Every device at every size, the ideal line there, and the weights, whose mean over the sizes is 1."""
    if not sizes or (normalize == "ceiling" and any(device.bandwidth is None for device in devices)):
        return None
    mean = sum(Fraction(weigh(n)) for n in sizes) / len(sizes)
    places = [(device, n) for device in devices for n in sizes]
    ideal = [device.scaled(device.best(n), n, normalize) for device, n in places]
    return places, ideal, [weigh(n) / mean for _, n in places]


def rounded(key):
    """Roots and powers are not exact."""
    return round(key, 12) if isinstance(key, float) else key


def ranking(devices, metric, normalize, weigh=lambda n: 1):
    sizes, kernels, _ = comparison(devices)
    found = places_of(devices, sizes, normalize, weigh)
    if not found or not kernels:
        return None
    places, ideal, weights = found
    ranked = []
    for kernel in kernels:
        rows = [device.line[kernel, n] for device, n in places]
        line = [device.scaled(row.x, n, normalize) for row, (device, n) in zip(rows, places)]
        value = score(metric, ideal, line, weights)
        key = rounded(-value if metric == "sum" else value)
        total = sum(w * l for w, l in zip(weights, line))
        spread = sum(row.spread for row in rows) / len(rows)
        uses = sum(device.uses[kernel] for device in devices)
        ranked.append(((key, -total, spread, -uses, order(kernel)), kernel, float(value)))
    return [[kernel, value] for _, kernel, value in sorted(ranked)]


def losses(devices, kernels, sizes):
    """What a set of kernels loses at each device and size that it covers, in percent, with the size."""
    lost = []
    for device in devices:
        for n in sizes:
            rows = [device.line[k, n].x for k in kernels if (k, n) in device.line]
            if rows:
                lost.append((float(100 * (1 - max(rows) / device.best(n))), n))
    return lost


def portfolios(devices, normalize):
    """The best sets of 1 to 3 kernels (2 of many) by squared distance: every set is tried."""
    sizes, _, _ = comparison(devices)
    found = places_of(devices, sizes, normalize, lambda n: 1)
    if not found:
        return None
    places, ideal, weights = found
    every = sorted(set().union(*(device.kernels for device in devices)), key=order)
    every = [k for k in every if any((k, n) in device.line for device, n in places)]
    most = 3 if len(every) <= 10 else 2
    ideal = [float(x) for x in ideal]
    lines = {}
    for k in every:
        lines[k] = [
            float(device.scaled(device.line[k, n].x, n, normalize)) if (k, n) in device.line else -math.inf
            for device, n in places
        ]
    sets = []
    for count in range(1, min(most, len(every)) + 1):
        best = None
        for kernels in itertools.combinations(every, count):
            line = [max(column) for column in zip(*(lines[k] for k in kernels))]
            covered = [(i, l) for i, l in zip(ideal, line) if l != -math.inf]
            value = sum((i - l) ** 2 for i, l in covered)
            key = (len(line) - len(covered), value)
            if best is None or key < best[0]:
                best = (key, kernels, value, line)
        key, kernels, value, line = best
        lost = losses(devices, kernels, sizes)
        worst = max(lost, key=lambda loss: (loss[0], -loss[1]))
        mean = sum(loss for loss, _ in lost) / len(lost)
        sets.append(
            {"score": value, "uncovered": key[0], "mean_loss_pct": mean, "worst_loss_pct": worst[0]}
        )
        if all(l >= i for i, l in zip(ideal, line)):
            break
    return sets


def shared(devices, metric, normalize):
    """The best config of each size that every device has, with its score and the number of candidates."""
    if normalize == "ceiling" and any(device.bandwidth is None for device in devices):
        return None
    chosen = []
    for n in sorted(set.intersection(*(set(device.sizes) for device in devices))):
        configs = set.intersection(*({row.config for row in device.at[n]} for device in devices))
        if not configs:
            continue
        ideal = [device.scaled(device.best(n), n, normalize) for device in devices]
        ranks = {}
        for device in devices:
            xs = [device.row[n, config].x for config in configs]
            for config in configs:
                x = device.row[n, config].x
                faster = sum(other > x for other in xs)
                ranks[device, config] = faster + Fraction(xs.count(x) + 1, 2)
        candidates = []
        for config in configs:
            rows = [device.row[n, config] for device in devices]
            x = [device.scaled(row.x, n, normalize) for device, row in zip(devices, rows)]
            mean = sum(x) / len(x)
            if metric == "mean":
                value = -mean
            elif metric == "max":
                value = -max(x)
            elif metric == "min":
                value = -min(x)
            elif metric == "mean-std":
                value = -(float(mean) - math.sqrt(sum((v - mean) ** 2 for v in x) / len(x)))
            elif metric == "rank-sum":
                value = sum(ranks[device, config] for device in devices)
            elif metric == "rank-product":
                value = math.prod(float(ranks[device, config]) for device in devices) ** (1 / len(x))
            else:
                power = {"distance": 1, "squared": 2}.get(metric)
                gaps = [i - v for i, v in zip(ideal, x)]
                if power:
                    value = sum(gap**power for gap in gaps)
                else:
                    value = sum(float(gap) ** float(metric.split(":")[1]) for gap in gaps)
            spread = sum(row.spread for row in rows) / len(rows)
            uses = sum(device.uses[rows[0].kernel] for device in devices)
            key = (rounded(value), -mean, spread, -uses, order(config))
            candidates.append((key, config, abs(float(value))))
        candidates.sort()
        chosen.append({"n": n, "config": candidates[0][1], "score": candidates[0][2], "of": len(candidates)})
    return chosen


def choices(devices):
    """Every kernel by every metric and normalisation."""
    return {m: {z: ranking(devices, m, z) for z in NORMALIZATIONS} for m in METRICS}


def bandwidth(device):
    if device.bandwidth is None:
        return None
    return {n: float(100 * device.best(n) / Fraction(device.bandwidth)) for n in device.sizes}


def answers_about(paths):
    rows, copies, baselines = defaultdict(list), {}, defaultdict(dict)
    for path in paths:
        with open(path, newline="") as file:
            table = list(csv.DictReader(file))
        for cells in table:
            if cells["subject"] == "scanbox":
                rows[cells["device"], cells["device_uuid"]].append(cells)
            elif "baseline" in cells["selection"].split("+") and "copy" not in cells["selection"].split("+"):
                x = Fraction(int(cells["bytes_moved"]), int(cells["steady_ns_median"]))
                best = baselines[cells["device"]]
                n = int(cells["n_elements"])
                best[n] = max(best.get(n, 0), x)
        beside = os.path.splitext(path)[0] + ".meta.json"
        if os.path.exists(beside):
            with open(beside) as file:
                metadata = json.load(file)
            identity = metadata["device"]["name"], metadata["device"]["uuid"]
            copies[identity] = {int(n): gbps for n, gbps in metadata["copy_gbps"].items()}
    devices = []
    for identity in sorted(rows):
        runs = defaultdict(list)
        for cells in rows[identity]:
            runs[cells["driver"], cells["subject_version"].split("+")[0], cells["kernel_hash"]].append(cells)
        latest = max(runs, key=lambda run: (max(cells["timestamp_utc"] for cells in runs[run]), run))
        devices.append(Device(identity, runs[latest], copies.get(identity), baselines[identity[0]]))
    document = {"devices": [], "across": None}
    for device in devices:
        sizes, kernels, dropped = comparison([device])
        ideal = []
        for n in device.sizes:
            first, *others = device.ideal[n]
            ideal.append(
                {
                    "n": n,
                    "config": first.config,
                    "gbps": float(first.x),
                    "runner_up": others[0].config if others else None,
                    "margin_pct": float(100 * (first.x / others[0].x - 1)) if others else None,
                    "ties": device.ties(n),
                }
            )
        document["devices"].append(
            {
                "ideal": ideal,
                "uses": dict(device.uses),
                "sizes": sizes,
                "kernels": kernels,
                "dropped": dropped,
                "coverage": {c: comparison([device], c)[:2] for c in COVERAGES},
                "metrics": choices([device]),
                "weighted": {m: ranking([device], m, "none", lambda n: n) for m in METRICS},
                "portfolios": portfolios([device], "none"),
                "bandwidth": bandwidth(device),
                "baseline": {n: float(device.best(n) / x) for n, x in device.baselines.items() if n in device.at},
            }
        )
    if len(devices) > 1:
        document["across"] = {
            "coverage": {c: comparison(devices, c)[:2] for c in COVERAGES},
            "portable": choices(devices),
            "shared": {m: {z: shared(devices, m, z) for z in NORMALIZATIONS} for m in SHARED},
            "portfolios": portfolios(devices, "size-best"),
        }
    return document


HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
COLUMNS = """schema run_id device device_uuid driver kernel_hash subject subject_version config_id kernel_id n_elements mode
    element op element_bytes bytes_moved input family batch_size vector_width workgroup_size workgroups lookback block_scan
    load_layout tile_state reset status reason mismatches first_mismatch samples steady_ns_median steady_ns_min
    steady_ns_mean steady_ns_q1 steady_ns_q3 steady_ns_stddev span_ns_median span_ns_min span_ns_mean span_ns_q1 span_ns_q3
    span_ns_stddev throughput_gbps subgroup_size registers compile_ms order_index drift_pct timestamp_utc tile_order
    publish rendezvous lookback_width back_off state_stride workgroups_per_unit shared_bytes cache selection rounds
    round_spread_pct confirmed_ns""".split()


def generated(device, seed, choose):
    """A file of a device: 8 kernels with 2 configs at 6 sizes, with ties, failed rows, rows twice, rows of a baseline,
    and points that are missing. `choose` says which kernels have a config at which size."""
    numbers = random.Random(seed)
    lines = []

    def line(**cells):
        common = {"schema": 1, "device": device, "device_uuid": "uuid of " + device, "driver": "driver 1"}
        common |= {"kernel_hash": "hash", "subject_version": "0.1.0", "element_bytes": 4, "samples": 20}
        common |= {"timestamp_utc": "2026-01-01T00:00:00Z", "order_index": len(lines)}
        lines.append(common | cells)

    for batch, lookback, block, exponent, size in itertools.product(
        (1, 4), ("seq", "par"), ("rake", "blelloch"), range(10, 16), (64, 128)
    ):
        kernel = f"b{batch}.vec4.{lookback}.{block}"
        if not choose(kernel, exponent):
            continue
        n = 2**exponent
        # Few different times make ties.
        median = 1000 + n // 8 + 100 * numbers.randrange(12) + 40 * batch * (seed % 5)
        half = numbers.choice((0, 5, 20))
        fate = numbers.randrange(20)
        times = {"median": median, "min": median - half, "mean": median, "q1": median - half, "q3": median + half}
        cells = {f"steady_ns_{name}": ns for name, ns in (times | {"stddev": half}).items()}
        cells |= {"subject": "scanbox", "config_id": f"{kernel}.wg{size}", "kernel_id": kernel, "n_elements": n}
        cells |= {"bytes_moved": 8 * n, "status": "timeout" if fate == 0 else "ok"}
        if fate != 1:
            line(**cells)
        if fate == 2:
            later = {f"steady_ns_{name}": ns + 300 for name, ns in times.items()}
            line(**cells | later | {"timestamp_utc": "2026-01-02T00:00:00Z"})
    for exponent in range(11, 15):
        n = 2**exponent
        ns = 1500 + n // 8
        cells = {f"steady_ns_{name}": ns for name in ("median", "min", "mean", "q1", "q3", "stddev")}
        cells |= {"subject": "other", "config_id": "other", "kernel_id": "other", "n_elements": n}
        line(**cells | {"bytes_moved": 8 * n, "status": "ok", "cache": "hot", "selection": "baseline"})
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


# Every kernel at every size; kernels with large tiles not at small ones; kernels of a range of sizes each.
SPACES = {
    "every": lambda kernel, exponent: True,
    "most": lambda kernel, exponent: not (kernel.startswith("b4") and exponent < 12),
    "ranges": lambda kernel, exponent: "par" in kernel
    and (exponent < 13) == kernel.startswith("b1")
    or kernel == "b4.vec4.seq.rake",
}
FILES = {f"{space}-{number}.csv": (space, number) for space in SPACES for number in range(1, 4)}
CASES = {
    "thesis": ["results/published.nvidia-h200.thesis.csv"],
    "llvmpipe": ["results/published.llvmpipe.quick.csv"],
    "both": ["results/published.nvidia-h200.thesis.csv", "results/published.llvmpipe.quick.csv"],
    "every": ["every-1.csv", "every-2.csv"],
    "most": ["most-1.csv", "most-2.csv", "most-3.csv"],
    "ranges": ["ranges-1.csv", "ranges-2.csv", "ranges-3.csv"],
    "mixed": ["every-1.csv", "most-2.csv", "ranges-3.csv", "every-3.csv"],
}


def golden(folder):
    """Every file that belongs into the folder, with its text; the generated ones have to be there for the answers."""
    files = {}
    for name, (space, number) in FILES.items():
        files[name] = generated(f"GPU {space} {number}", 100 * number + len(space), SPACES[space])
    yield from files.items()
    for case, paths in CASES.items():
        paths = [os.path.join(folder if path in files else ROOT, path) for path in paths]
        yield case + ".json", json.dumps(answers_about(paths), indent=None, separators=(",", ":")) + "\n"


def main(arguments):
    if arguments[0] not in ("--write", "--check"):
        json.dump(answers_about(arguments), sys.stdout)
        return
    verb, folder = arguments
    for name, text in golden(folder):
        path = os.path.join(folder, name)
        if verb == "--write":
            with open(path, "w", newline="") as file:
                file.write(text)
            continue
        with open(path, newline="") as file:
            if file.read() != text:
                sys.exit(f"{path} is not what {os.path.basename(__file__)} --write makes")


if __name__ == "__main__":
    main(sys.argv[1:] or sys.exit(__doc__))

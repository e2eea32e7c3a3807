#!/usr/bin/env python3
"""Writes figures.json beside itself: statistics of made-up data by NumPy and SciPy, which perfleet's own are held against.

Needs Debian's python3-scipy. The data come from integers that a short recurrence makes, so the test makes the same ones.
"""

import json
import os

import numpy
import scipy
from scipy import stats

MASK = (1 << 64) - 1


def values(seed, count, shape):
    """`count` integers of a shape; query-engine/statistic/number/golden_test.cpp does the same."""
    result = []
    state = seed
    for i in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) & MASK
        raw = state >> 33  # 31 bits
        if shape == "uniform":
            result.append(raw)
        elif shape == "narrow":
            result.append(1_000_000_000_000 + raw % 7)
        elif shape == "ties":
            result.append(raw % 5)
        elif shape == "tail":
            result.append(100 + (1 << (raw % 40)))
        elif shape == "modes":
            result.append((1000 if raw % 3 else 5000) + raw % 97)
        elif shape == "drift":
            result.append(2000 + 3 * i + raw % 50)
    return result


def student(p, degrees):
    """SciPy 1.10's own inverse is good to nine digits only; two steps of Newton's method make it twelve."""
    t = stats.t.ppf(p, degrees)
    for _ in range(2):
        t -= (stats.t.cdf(t, degrees) - p) / stats.t.pdf(t, degrees)
    return float(t)


def summary(data):
    array = numpy.array(data, dtype=object)
    floats = numpy.array(data, dtype=numpy.longdouble)
    count = len(data)
    mean = floats.sum() / count
    result = {
        "count": count,
        "min": int(array.min()),
        "max": int(array.max()),
        "mean": float(mean),
        "median": float(numpy.percentile(floats, 50)),
        "type7": {str(p): float(numpy.percentile(floats, p)) for p in (1, 25, 90, 95, 99, 99.9)},
        "nearest": {str(p): int(numpy.percentile(array.astype(numpy.uint64), p, method="inverted_cdf"))
                    for p in (1, 25, 50, 90, 95, 99)},
        "deviation": float(numpy.median(numpy.abs(floats - numpy.median(floats)))),
    }
    if count > 1:
        variance = ((floats - mean) ** 2).sum() / (count - 1)
        spread = float(numpy.sqrt(variance))
        error = spread / numpy.sqrt(count)
        result["variance"] = float(variance)
        result["sd"] = spread
        result["t95"] = [float(mean) - student(0.975, count - 1) * error,
                         float(mean) + student(0.975, count - 1) * error]
        result["z90"] = [float(mean) - stats.norm.ppf(0.95) * error, float(mean) + stats.norm.ppf(0.95) * error]
    return result


def comparison(first, second):
    a = numpy.array(first, dtype=float)
    b = numpy.array(second, dtype=float)
    tied = len(set(first) | set(second)) < len(first) + len(second)
    exact = len(first) <= 50 and len(second) <= 50
    enumerated = stats.PermutationMethod(n_resamples=numpy.inf)  # as benchstat's: few values with ties
    method = enumerated if tied and len(first) + len(second) <= 20 else "exact" if exact and not tied else "asymptotic"
    test = stats.mannwhitneyu(b, a, method=method)
    welch = stats.ttest_ind(b, a, equal_var=False)
    v1, v2 = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    degrees = (v1 + v2) ** 2 / (v1 ** 2 / (len(a) - 1) + v2 ** 2 / (len(b) - 1))
    half = student(0.975, degrees) * numpy.sqrt(v1 + v2)
    difference = b.mean() - a.mean()
    munzel = stats.brunnermunzel(a, b)
    shift = numpy.median(numpy.subtract.outer(numpy.array(second, dtype=numpy.longdouble),
                                              numpy.array(first, dtype=numpy.longdouble)))
    return {"u": float(test.statistic), "p": float(test.pvalue), "welch_p": float(welch.pvalue),
            "difference": [float(difference - half), float(difference + half)],
            "munzel_p": float(munzel.pvalue), "shift": float(shift)}


def main():
    cases = []
    for shape in ("uniform", "narrow", "ties", "tail", "modes", "drift"):
        for count in (1, 2, 3, 10, 31, 100, 1000, 10007):
            seed = 17 * count + len(shape)
            cases.append({"shape": shape, "seed": seed, "summary": summary(values(seed, count, shape)), "count": count})
    pairs = []
    for shape in ("uniform", "ties", "tail", "modes"):
        for count, other in ((5, 7), (20, 31), (50, 50), (60, 200), (1000, 1500)):
            first, second = values(3, count, shape), values(4, other, shape)
            second = [value + (10 if shape != "ties" else 0) for value in second]
            pairs.append({"shape": shape, "count": count, "other": other, **comparison(first, second)})
    normal = [[p, float(stats.norm.ppf(p))] for p in (1e-12, 0.001, 0.025, 0.05, 0.3, 0.5, 0.9, 0.975, 0.9995)]
    students = [[p, df, student(p, df)]
               for p in (0.001, 0.025, 0.05, 0.4, 0.9, 0.975) for df in (1, 2, 3.7, 29, 100, 5000)]
    binomial = [[k, n, p, float(stats.binom.cdf(k, n, p))]
                for k, n, p in ((0, 5, 0.5), (3, 10, 0.5), (40, 100, 0.5), (94, 100, 0.95), (970, 1000, 0.99),
                                (49000, 100000, 0.5), (999, 1000, 0.999))]
    shares = [[hits, count, confidence, *map(float, stats.binomtest(hits, count).proportion_ci(confidence, "exact"))]
              for hits, count in ((0, 10), (1, 10), (10, 10), (3, 1000), (500, 1000), (99990, 100000))
              for confidence in (0.9, 0.95, 0.9999)]
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "figures.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"by": f"NumPy {numpy.__version__}, SciPy {scipy.__version__}", "cases": cases, "pairs": pairs,
                   "normal": normal, "student": students, "binomial": binomial, "shares": shares}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()

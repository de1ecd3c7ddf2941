"""Measure this build against one from before: `bench/run --before BINARY`.

Whole runs of bench.py take turns. Each has servers and data of its own, because
a build may write marks that the other one does not know. Prints the medians of
both and the median of the ratios, pair by pair. A ratio below 1 means that this
build is slower. Writes no file.
"""

import argparse
import collections
import statistics
import subprocess
import sys

HERE = __file__.rpartition("/")[0] or "."


def figures(binary, options):
    """(job, contender) -> seconds, of one whole run with one binary."""
    done = subprocess.run(
        [sys.executable, f"{HERE}/bench.py", "--binary", binary, "--no-report",
         "--rows", str(options.rows), "--reps", str(options.reps),
         "--jobs", options.jobs], stdout=subprocess.PIPE, text=True, check=True)
    rows = [line.split("|")[1:4] for line in done.stdout.splitlines()
            if line.startswith("| ")]
    return {(job.strip(), name.strip()): float(median.split()[0])
            for job, name, median in rows if "tidemark" in name}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True, help="this build")
    parser.add_argument("before", help="the binary from before")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--jobs", default="full,delta,nothing")
    options = parser.parse_args()
    before, now = (collections.defaultdict(list) for _ in range(2))
    for turn in range(options.turns):
        # Neither is always the first.
        pair = [(before, options.before), (now, options.binary)]
        for seen, binary in pair[::-1] if turn % 2 else pair:
            for what, seconds in figures(binary, options).items():
                seen[what].append(seconds)
    print("| job | before | now | before / now | least | most |")
    print("| --- | --- | --- | --- | --- | --- |")
    for what, seconds in now.items():
        ratios = [a / b for a, b in zip(before[what], seconds)]
        print(f"| {what[0]} | {statistics.median(before[what]):.3f} s "
              f"| {statistics.median(seconds):.3f} s "
              f"| {statistics.median(ratios):.2f} "
              f"| {min(ratios):.2f} | {max(ratios):.2f} |")


if __name__ == "__main__":
    main()

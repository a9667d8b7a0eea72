# SPDX-License-Identifier: Apache-2.0
"""Counts, over runs of `paes-bench speculate`, for how many combinations of clients, workers and delays keystream computed in advance makes
requests slower. Runs with --window 0 compare direct computing with itself; their count is due to chance alone."""
from .values import size

CIPHER = "aes-256-ctr"
MOST_DELAY_US = 5  # With longer delays no combination is slower.


def is_slower(row):
    """Whether the median request takes longer by more than 3 % and by more than 25 ns."""
    direct, ahead = (row[way]["encrypt"]["p50_ns"] for way in ("direct", "speculative"))
    return ahead > 1.03 * direct and ahead > direct + 25


def has_less_throughput(row):
    """Whether the throughput is less by more than 3 %."""
    return row["throughput_ratio"]["median"] < 0.97


def runs(documents):
    """The runs by (whether direct computing was compared with itself, bytes of a round). A run has one row for each combination, possibly
    from several documents; a second row for a combination belongs to the next run."""
    found = {}
    for row in (row for document in documents for row in document["results"]):
        if row["cipher"] != CIPHER or row["delay_us"] > MOST_DELAY_US:
            continue
        these = found.setdefault((row["window_chunks"] == 0, row["requests"] * row["request_bytes"]), [])
        combination = tuple(row[name] for name in ("kernel", "clients", "workers", "delay_us"))
        for run in these:
            if combination not in run:
                run[combination] = row
                break
        else:
            these.append({combination: row})
    return found


def table(documents):
    yield "| compared | rounds of | combinations | slower in p50 | less throughput |"
    yield "|---|---:|---:|---:|---:|"
    for (is_itself, count), these in sorted(runs(documents).items(), key=lambda item: (item[0][1], not item[0][0])):
        counted = [", ".join(str(sum(map(is_missed, run.values()))) for run in these)
                   for is_missed in (is_slower, has_less_throughput)]
        what = "direct with itself" if is_itself else "ahead with direct"
        yield f"| {what} | {size(count)} | {len(these[0])} | {counted[0]} | {counted[1]} |"
